import { expect, it } from '@jest/globals'
import { calmMs, stalledMs } from './calm-clock.js'

it.each([
  [
    'some avg10=47.68 avg60=51.83 avg300=46.51 total=15605291\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n',
    15_605.291,
  ],
  ['full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n', 0],
  ['', 0],
])('the time in which processes waited for a processor is read from %j', (text, ms) => {
  expect(stalledMs(text)).toBe(ms)
})

it('calmMs passes no faster than the monotonic clock', () => {
  const [from, calmFrom] = [performance.now(), calmMs()]
  while (performance.now() - from < 20);
  expect(calmMs() - calmFrom).toBeLessThanOrEqual(performance.now() - from)
})
