import { expect, it } from '@jest/globals'
import { type ProcessProbes, decideProcessEnd, type ProcessEndDecision } from './process-end.js'

it.each<[string, ProcessProbes, ProcessEndDecision]>([
  ['has neither a listener on the bus nor an open port', { holder: 'absent', process: 'ended' }, 'ended'],
  ['has lost the bus and answers on its port', { holder: 'absent', process: 'running' }, 'alive'],
  ['has lost the bus and does not answer on its port', { holder: 'absent', process: 'unclear' }, 'unclear'],
  ['answers on the bus while its port refuses connections', { holder: 'alive', process: 'ended' }, 'alive'],
  ['does not answer on the bus while its port refuses connections', { holder: 'silent', process: 'ended' }, 'unclear'],
  ['does not answer at all', { holder: 'silent', process: 'unclear' }, 'unclear'],
  ['has another connection to the bus', { holder: 'alive', process: 'unclear' }, 'alive'],
])('a process that %s: %j is %s', (_what, probes, expected) => {
  expect(decideProcessEnd(probes)).toBe(expected)
})
