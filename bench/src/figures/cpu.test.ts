import { execFileSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import {
  cpuSeconds,
  cpuSecondsOfTree,
  cpuSecondsOfTrees,
  megabytesOfTrees,
  parseSchedstat,
  parseStat,
  parseStatWithEnded,
} from './cpu.js'

describe('/proc', () => {
  it('reads the CPU time from the first field of schedstat', () => {
    expect(parseSchedstat('277328269 1586245 48\n')).toBeCloseTo(0.277328269, 9)
  })

  it('treats an empty or zero schedstat as not counted', () => {
    expect(parseSchedstat('0 0 0\n')).toBeUndefined()
    expect(parseSchedstat('')).toBeUndefined()
  })

  it('reads user and system ticks from stat, whatever the name of the program', () => {
    const rest = 'S 1 1 1 0 -1 4194304 88 0 0 0 150 25 900 800 20 0 1 0 336014'
    expect(parseStat(`17524 (sh) ${rest}`)).toBeCloseTo(1.75, 9)
    expect(parseStat(`17524 (a) b (c) ${rest}`)).toBeCloseTo(1.75, 9)
  })

  it('includes children that have ended', () => {
    const rest = 'S 1 1 1 0 -1 4194304 88 0 0 0 150 25 900 800 20 0 1 0 336014'
    expect(parseStatWithEnded(`17524 (a) b (c) ${rest}`)).toBeCloseTo(18.75, 9)
  })

  it('throws on text that is not a stat file', () => {
    expect(() => parseStat('')).toThrow('not the stat of a process')
  })
})

it('measures the CPU time of this process', () => {
  const before = cpuSeconds(process.pid)
  const until = process.cpuUsage().user + 50_000
  let sum = 0
  while (process.cpuUsage().user < until) for (let n = 0; n < 10_000; n++) sum += Math.sqrt(n)
  expect(sum).toBeGreaterThan(0)
  const used = cpuSeconds(process.pid) - before
  expect(used).toBeGreaterThan(0.03)
  expect(cpuSecondsOfTree(process.pid)).toBeGreaterThanOrEqual(used)
})

it('keeps counting the CPU time of a child that has ended, and measures memory', () => {
  const before = cpuSecondsOfTrees([process.pid])
  execFileSync(process.execPath, [
    '-e',
    'const end = process.cpuUsage().user + 100_000; while (process.cpuUsage().user < end);',
  ])
  expect(cpuSecondsOfTrees([process.pid]) - before).toBeGreaterThan(0.09)
  expect(megabytesOfTrees([process.pid])).toBeGreaterThan(10)
})
