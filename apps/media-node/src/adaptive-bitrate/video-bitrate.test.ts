import { expect, it } from '@jest/globals'
import { VideoBitrate } from './video-bitrate.js'

/** 1,000 kbit/s with a count each second. */
const steady = (seconds: number): [number, number][] =>
  Array.from({ length: seconds + 1 }, (_, at) => [at * 125_000, at * 1_000])

it.each<[string, [bytes: number, at: number][], number]>([
  ['unknown without counts', [], 0],
  ['unknown in the first two seconds', steady(1), 0],
  ['0 while nothing is sent', [...steady(0), [0, 2_000]], 0],
  ['the average of the time', [...steady(1), [375_000, 2_000]], 1_500],
  ['not affected by the number of counts', [...steady(1), [125_000, 1_000], [250_000, 2_000]], 1_000],
  [
    'without what was sent more than five seconds ago',
    [
      [0, 0],
      [900_000, 1_000],
      [1_525_000, 6_000],
    ],
    1_000,
  ],
  ['unknown again after five seconds without a count', [...steady(5), [900_000, 11_000]], 0],
  ['unknown again after a count of another track', [...steady(5), [0, 6_000], [125_000, 7_000]], 0],
])('the bitrate of a video is %s', (_, counts, kbps) => {
  const bitrate = new VideoBitrate()
  for (const [bytes, at] of counts) bitrate.counted(bytes, at)
  expect(bitrate.kbps).toBe(kbps)
})
