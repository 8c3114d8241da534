import { expect, it } from '@jest/globals'
import { observeSilence } from './silence.js'

it.each([
  ['adds the time since the last sample', { at: 1_000, silentMs: 300 }, 1_500, false, 800],
  ['a heartbeat ends it', { at: 1_000, silentMs: 4_900 }, 1_500, true, 0],
  ['a suspension of the observer counts little', { at: 1_000, silentMs: 300 }, 600_000, false, 1_300],
  ['never shrinks without a heartbeat', { at: 1_000, silentMs: 300 }, 900, false, 300],
])('silence: %s', (_rule, before, now, heard, silentMs) => {
  expect(observeSilence(before, now, heard)).toEqual({ at: now, silentMs })
})
