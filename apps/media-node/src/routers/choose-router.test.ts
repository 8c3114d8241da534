import { expect, it } from '@jest/globals'
import { chooseRouter } from './choose-router.js'

const idle = { name: 'idle', rooms: 0, consumers: 0 }
const busy = { name: 'busy', rooms: 3, consumers: 300 }

interface Case {
  what: string
  loads: number[]
  others?: (typeof idle)[]
  expected?: number
  takes: number | string
}

const CASES: Case[] = [
  { what: 'the only roomRouter while it has room', loads: [90], takes: 0 },
  { what: 'a roomRouter up to its last track', loads: [96], takes: 0 },
  { what: 'a new roomRouter when one track would be too many', loads: [97], takes: 'idle' },
  { what: 'the least loaded of the other workers for it', loads: [100], others: [busy, idle], takes: 'idle' },
  { what: 'a busy worker rather than a full roomRouter', loads: [100], others: [busy], takes: 'busy' },
  { what: 'an existing roomRouter before a new one', loads: [100, 50], takes: 1 },
  { what: 'the oldest roomRouter with room, though a younger one has more', loads: [100, 80, 10], takes: 1 },
  { what: 'the least loaded roomRouter when every worker has one', loads: [140, 120, 130], others: [], takes: 1 },
  { what: 'the first of equals', loads: [120, 120], others: [], takes: 0 },
  { what: 'an empty roomRouter for somebody who brings more than the budget', loads: [0], expected: 500, takes: 0 },
  { what: 'a roomRouter of his own for the next of those', loads: [500], expected: 500, takes: 'idle' },
]

it.each(CASES)('takes $what', ({ loads, others = [busy, idle], expected = 4, takes }) => {
  const routers = loads.map((load, at) => ({ at, load }))
  const choice = chooseRouter({ routers, otherWorkers: others, expected, budget: 100 })
  expect('join' in choice ? choice.join.at : choice.open.name).toBe(takes)
})
