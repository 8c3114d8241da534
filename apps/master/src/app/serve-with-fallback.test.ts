import { ConfigError } from '@session-service/config'
import { describe, expect, it } from '@jest/globals'
import type { Candidate } from '../api/configuration/generations.js'
import { propertiesAtFault, serveWithFallback } from './serve-with-fallback.js'

const candidate = (generation: number, stored: Record<string, string>, hasServed = true): Candidate => ({
  generation,
  stored,
  hasServed,
})
const ENVIRONMENT = candidate(0, {})
const GOOD = candidate(1, { A: '1' })
const LATEST = candidate(2, { A: '1', B: '2' }, false)

interface Case {
  latest?: Candidate
  earlier?: Candidate[]
  works: (candidate: Candidate, nth: number) => boolean
  mayRollBack?: boolean
  isBlamed?: boolean
}

async function outcome({ latest = LATEST, earlier = [GOOD, ENVIRONMENT], works, ...rules }: Case) {
  const tried: number[] = []
  try {
    const { candidate: served, rollback } = await serveWithFallback(latest, {
      serve: async (one) => {
        tried.push(one.generation)
        if (!works(one, tried.length)) throw new Error(`${one.generation} fails`)
        return one.generation
      },
      earlier: async () => earlier,
      mayRollBack: async () => rules.mayRollBack ?? true,
      isBlamed: () => rules.isBlamed ?? true,
      logger: { error: () => undefined, warn: () => undefined },
    })
    return { tried, served: served.generation, rollback }
  } catch (error) {
    return { tried, error: (error as Error).message }
  }
}

describe('serveWithFallback', () => {
  it('serves the latest configuration when it works', async () => {
    expect(await outcome({ works: () => true })).toEqual({ tried: [2], served: 2, rollback: undefined })
  })

  it('rolls back to the last configuration that served and names what differs', async () => {
    const result = await outcome({ works: ({ generation }) => generation === 1 })
    expect(result).toMatchObject({ tried: [2, 1], served: 1 })
    expect(result.rollback).toEqual({ failed: LATEST, restored: GOOD, properties: ['B'], reason: '2 fails' })
  })

  it('rolls back to the environment alone when no earlier configuration works', async () => {
    const result = await outcome({ works: ({ generation }) => generation === 0 })
    expect(result).toMatchObject({ tried: [2, 1, 0], served: 0, rollback: { properties: ['A', 'B'] } })
  })

  it('fails with the error of the latest configuration when none works', async () => {
    expect(await outcome({ works: () => false })).toEqual({ tried: [2, 1, 0], error: '2 fails' })
  })

  it('retries a configuration that has served before once', async () => {
    const latest = { ...LATEST, hasServed: true }
    expect(await outcome({ latest, works: (_, nth) => nth === 2 })).toMatchObject({ tried: [2, 2], served: 2 })
  })

  it('does not roll back a configuration that other masters serve', async () => {
    expect(await outcome({ works: ({ generation }) => generation < 2, mayRollBack: false })).toEqual({
      tried: [2],
      error: '2 fails',
    })
  })

  it('does not roll back because of an unreachable database', async () => {
    expect(await outcome({ works: ({ generation }) => generation < 2, isBlamed: false })).toEqual({
      tried: [2],
      error: '2 fails',
    })
  })
})

describe('propertiesAtFault', () => {
  it.each([
    [new ConfigError(['B: is wrong', 'X: too']), ['A', 'B'], ['B']],
    [new ConfigError(['X: is wrong']), ['A', 'B'], ['A', 'B']],
    [new Error('B: no'), ['A', 'B'], ['A', 'B']],
  ])('for %s with %j changed gives %j', (error, changed, expected) => {
    expect(propertiesAtFault(error, changed)).toEqual(expected)
  })
})
