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
  { what: 'the only router while it has capacity', loads: [90], takes: 0 },
  { what: 'a router up to its budget', loads: [96], takes: 0 },
  { what: 'a new router when one track would exceed the budget', loads: [97], takes: 'idle' },
  { what: 'the least loaded of the other workers for it', loads: [100], others: [busy, idle], takes: 'idle' },
  { what: 'a busy worker rather than a full router', loads: [100], others: [busy], takes: 'busy' },
  { what: 'an existing router before a new one', loads: [100, 50], takes: 1 },
  { what: 'the oldest router with capacity, though a younger one has more', loads: [100, 80, 10], takes: 1 },
  { what: 'the least loaded router when every worker has one', loads: [140, 120, 130], others: [], takes: 1 },
  { what: 'the first of equals', loads: [120, 120], others: [], takes: 0 },
  { what: 'an empty router for a peer with more tracks than the budget', loads: [0], expected: 500, takes: 0 },
  { what: 'a new router for the next such peer', loads: [500], expected: 500, takes: 'idle' },
]

it.each(CASES)('takes $what', ({ loads, others = [busy, idle], expected = 4, takes }) => {
  const routers = loads.map((load, at) => ({ at, load }))
  const choice = chooseRouter({ routers, otherWorkers: others, expected, budget: 100 })
  expect('join' in choice ? choice.join.at : choice.open.name).toBe(takes)
})
