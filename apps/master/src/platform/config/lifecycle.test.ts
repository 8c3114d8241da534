import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { type Generation, Lifecycle } from './lifecycle.js'

const complaints: string[] = []
const logger = {
  log: () => undefined,
  warn: () => undefined,
  error: (_: object, text: string) => complaints.push(text),
}
const never = new AbortController().signal

beforeEach(() => {
  jest.useFakeTimers()
  complaints.length = 0
})
afterEach(() => {
  jest.useRealTimers()
})

/** Builds one generation after the other; the first ends as told. */
function lifecycleOf(first: Generation): { lifecycle: Lifecycle; built: () => number } {
  let count = 0
  const build = async (): Promise<Generation> => (count++ === 0 ? first : { close: () => Promise.resolve() })
  return { lifecycle: new Lifecycle(build, logger, never), built: () => count }
}

describe('a restart', () => {
  it('follows the end of what was before', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const { lifecycle, built } = lifecycleOf({ close: () => ended })
    await lifecycle.start()
    lifecycle.restart(() => Promise.resolve())
    await jest.advanceTimersByTimeAsync(29_000)
    expect([built(), lifecycle.isRestarting]).toEqual([1, true])
    end()
    await jest.advanceTimersByTimeAsync(0)
    expect([built(), lifecycle.isRestarting, complaints]).toEqual([2, false, []])
  })

  it('serves again although what was before never ends', async () => {
    const { lifecycle, built } = lifecycleOf({ close: () => new Promise(() => undefined) })
    await lifecycle.start()
    lifecycle.restart(() => Promise.resolve())
    await jest.advanceTimersByTimeAsync(30_000)
    expect([built(), lifecycle.isRestarting]).toEqual([2, false])
    expect(complaints).toEqual(['closing the former configuration failed'])
  })

  it('serves again although what was before could not end', async () => {
    const { lifecycle, built } = lifecycleOf({ close: () => Promise.reject(new Error('no')) })
    await lifecycle.start()
    lifecycle.restart(() => Promise.reject(new Error('nobody hears it')))
    await jest.advanceTimersByTimeAsync(0)
    expect(built()).toBe(2)
    expect(complaints).toHaveLength(2)
  })
})
