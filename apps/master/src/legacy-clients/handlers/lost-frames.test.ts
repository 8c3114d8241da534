import { expect, it } from '@jest/globals'
import { mayHaveLostFrames } from './lost-frames.js'

it.each([
  ['none', undefined, false],
  ['one that is open', { closeCode: undefined, wasTerminated: false }, true],
  ['one that the library has closed to reconnect', { closeCode: 4104, wasTerminated: false }, true],
  ['one that the master has terminated', { closeCode: 1006, wasTerminated: true }, true],
  ['one whose client has ended', { closeCode: 1006, wasTerminated: false }, false],
  ['one that was closed', { closeCode: 1001, wasTerminated: false }, false],
])('whether frames of a former socket may be lost: %s', (_, former, mayHaveLost) => {
  expect(mayHaveLostFrames(former)).toBe(mayHaveLost)
})
