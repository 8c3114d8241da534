import { expect, it } from '@jest/globals'
import { RecordingPresence } from './recording-presence.js'

it.each<[string, boolean, object[][], boolean]>([
  ['may exist before the first read', false, [], true],
  ['do not exist with SERVICE_RECORDING off when none was read', false, [[]], false],
  ['may exist while one from before runs', false, [[], [{ live: 1 }]], true],
  ['may exist with SERVICE_RECORDING', true, [[]], true],
])('live recordings %s', (_, SERVICE_RECORDING, reads, expected) => {
  const presence = new RecordingPresence({ SERVICE_RECORDING })
  for (const rows of reads) presence.receive(rows)
  expect(presence.mayExist).toBe(expected)
})

it.each([
  [true, false],
  [false, true],
])('with SERVICE_RECORDING %s masters read whether recordings are live: %s', (SERVICE_RECORDING, isRead) => {
  expect(new RecordingPresence({ SERVICE_RECORDING }).periodicRead.includes('FROM recording')).toBe(isRead)
})
