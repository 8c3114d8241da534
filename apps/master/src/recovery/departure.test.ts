import { expect, it } from '@jest/globals'
import { type Departure, decideDeparture, type DepartureDecision } from './departure.js'

it.each<[string, Departure, DepartureDecision]>([
  ['has neither a listener on the bus nor an open port', { holder: 'absent', process: 'ended' }, 'ended'],
  ['has lost the bus and answers on its port', { holder: 'absent', process: 'running' }, 'alive'],
  ['has lost the bus and does not answer on its port', { holder: 'absent', process: 'unclear' }, 'unclear'],
  ['answers on the bus while its port refuses connections', { holder: 'alive', process: 'ended' }, 'alive'],
  ['does not answer on the bus while its port refuses connections', { holder: 'silent', process: 'ended' }, 'unclear'],
  ['does not answer at all', { holder: 'silent', process: 'unclear' }, 'unclear'],
  ['has another connection to the bus', { holder: 'alive', process: 'unclear' }, 'alive'],
])('a process that %s: %j is %s', (_what, departure, expected) => {
  expect(decideDeparture(departure)).toBe(expected)
})
