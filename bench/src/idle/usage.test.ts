import { expect, it } from '@jest/globals'
import { parseWaits, readUsage, usedSince } from './usage.js'

it('reads how often a thread has waited', () => {
  expect(parseWaits('Name:\tnode\nvoluntary_ctxt_switches:\t1234\nnonvoluntary_ctxt_switches:\t5\n')).toBe(1_234)
  expect(parseWaits('Name:\tnode\n')).toBe(0)
})

it('adds what processes have used since, new ones included and ended ones left out', () => {
  const before = new Map([
    [1, { cpuSeconds: 1, wakeUps: 10 }],
    [2, { cpuSeconds: 5, wakeUps: 50 }],
  ])
  const after = new Map([
    [1, { cpuSeconds: 1.5, wakeUps: 12 }],
    [3, { cpuSeconds: 0.25, wakeUps: 4 }],
  ])
  expect(usedSince(before, after)).toEqual({ cpuSeconds: 0.75, wakeUps: 6 })
})

it('reads this process', () => {
  const used = readUsage(process.pid).get(process.pid)
  expect(used?.cpuSeconds).toBeGreaterThan(0)
  expect(used?.wakeUps).toBeGreaterThan(0)
})
