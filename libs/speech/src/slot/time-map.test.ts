import { expect, it } from '@jest/globals'
import { SAMPLE_RATE } from '../engines/engine.js'
import { TimeMap } from './time-map.js'

const s = (seconds: number): number => seconds * SAMPLE_RATE

/** Two seconds at 1, three at 10, one at 20. */
function gated(): TimeMap {
  const map = new TimeMap()
  for (const [position, length] of [
    [1, 1],
    [2, 1],
    [10, 3],
    [20, 1],
  ] as const)
    map.add(s(position), s(length))
  return map
}

it.each([
  [0, 1],
  [1.5, 2.5],
  [2, 10],
  [4.5, 12.5],
  [5, 20],
  [5.5, 20.5],
])('%d s of the audio that the engine received is %d s of the stream', (engine, stream) => {
  expect(gated().toStream(engine)).toBe(stream)
})

it.each([
  [0, 1],
  [2, 3],
  [2.1, 10.1],
  [5, 13],
])('a word that ends after %d s of the engine ends at %d s of the stream', (engine, stream) => {
  expect(gated().toStreamEnd(engine)).toBe(stream)
})

it('without audio times stay as they are', () => {
  expect(new TimeMap().toStream(3)).toBe(3)
})

it('hours of short utterances need no more memory, and recent times stay exact', () => {
  const map = new TimeMap()
  for (let at = 0; at < 100_000; at++) map.add(s(at * 10), s(1))
  expect(map.toStream(99_999.5)).toBe(999_990.5)
  expect(map.toStream(99_950)).toBe(999_500)
})
