import { expect, test } from '@jest/globals'
import { chooseBranch } from './choose-router.js'

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
  { what: 'the only branch while it has room', loads: [90], takes: 0 },
  { what: 'a branch up to its last track', loads: [96], takes: 0 },
  { what: 'a new branch when one track would be too many', loads: [97], takes: 'idle' },
  { what: 'the least loaded of the other workers for it', loads: [100], others: [busy, idle], takes: 'idle' },
  { what: 'a busy worker rather than a full branch', loads: [100], others: [busy], takes: 'busy' },
  { what: 'an existing branch before a new one', loads: [100, 50], takes: 1 },
  { what: 'the oldest branch with room, though a younger one has more', loads: [100, 80, 10], takes: 1 },
  { what: 'the least loaded branch when every worker has one', loads: [140, 120, 130], others: [], takes: 1 },
  { what: 'the first of equals', loads: [120, 120], others: [], takes: 0 },
  { what: 'an empty branch for somebody who brings more than the budget', loads: [0], expected: 500, takes: 0 },
  { what: 'a branch of his own for the next of those', loads: [500], expected: 500, takes: 'idle' },
]

test.each(CASES)('takes $what', ({ loads, others = [busy, idle], expected = 4, takes }) => {
  const branches = loads.map((load, at) => ({ at, load }))
  const choice = chooseBranch({ branches, otherWorkers: others, expected, budget: 100 })
  expect('join' in choice ? choice.join.at : choice.open.name).toBe(takes)
})
