import { RecordingStatus } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { isLive, mayBecome } from './recording-states.js'

const STATES = RecordingStatus.options
const MAY = [
  'starting → started',
  'started → stopped',
  'stopped → ready',
  'stopped → failed',
  // Files of a media node that returns late.
  'ready → stopped',
  'failed → stopped',
]

describe('the status of a recording', () => {
  it.each(STATES.flatMap((from) => STATES.map((to) => [from, to] as const)))('%s → %s', (from, to) => {
    expect(mayBecome(from, to)).toBe(MAY.includes(`${from} → ${to}`))
  })

  it.each(STATES)('%s is live while the recording is starting or started', (status) => {
    expect(isLive(status)).toBe(['starting', 'started'].includes(status))
  })
})
