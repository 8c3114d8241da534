import { expect, it } from '@jest/globals'
import { participantName } from './names.js'

it.each([
  ['Ada', '', 'Ada'],
  ['{"clientData":"Ada"}', 'server', 'Ada'],
  ['{"nickname":"Grace","x":1}', '', 'Grace'],
  ['{"x":1}', '', '{"x":1}'],
  ['{"x', '', '{"x'],
  [null, '{"name":"Camera 1"}', 'Camera 1'],
  ['', 'server', 'server'],
  [null, '', ''],
  ['a'.repeat(81), '', `${'a'.repeat(79)}…`],
])('names a participant with the data %j and %j "%s"', (clientData, serverData, name) =>
  expect(participantName(clientData, serverData)).toBe(name),
)
