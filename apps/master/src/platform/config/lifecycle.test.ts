import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { type Instance, Lifecycle } from './lifecycle.js'

const errors: string[] = []
const logger = {
  log: () => undefined,
  warn: () => undefined,
  error: (_: object, text: string) => errors.push(text),
}
const never = new AbortController().signal

beforeEach(() => {
  jest.useFakeTimers()
  errors.length = 0
})
afterEach(() => {
  jest.useRealTimers()
})

/** Builds one instance after another, beginning with `first`. */
function lifecycleOf(first: Instance): { lifecycle: Lifecycle; built: () => number } {
  let count = 0
  const build = async (): Promise<Instance> => (count++ === 0 ? first : { close: () => Promise.resolve() })
  return { lifecycle: new Lifecycle(build, logger, never), built: () => count }
}

describe('Lifecycle.restart', () => {
  it('builds the next instance after the former one has closed', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const { lifecycle, built } = lifecycleOf({ close: () => ended })
    await lifecycle.start()
    lifecycle.restart(() => Promise.resolve())
    await jest.advanceTimersByTimeAsync(29_000)
    expect([built(), lifecycle.isRestarting]).toEqual([1, true])
    end()
    await jest.advanceTimersByTimeAsync(0)
    expect([built(), lifecycle.isRestarting, errors]).toEqual([2, false, []])
  })

  it('serves again when closing the former instance hangs', async () => {
    const { lifecycle, built } = lifecycleOf({ close: () => new Promise(() => undefined) })
    await lifecycle.start()
    lifecycle.restart(() => Promise.resolve())
    await jest.advanceTimersByTimeAsync(30_000)
    expect([built(), lifecycle.isRestarting]).toEqual([2, false])
    expect(errors).toEqual(['closing the former instance failed'])
  })

  it('serves again when closing the former instance fails', async () => {
    const { lifecycle, built } = lifecycleOf({ close: () => Promise.reject(new Error('no')) })
    await lifecycle.start()
    lifecycle.restart(() => Promise.reject(new Error('prepare failed')))
    await jest.advanceTimersByTimeAsync(0)
    expect(built()).toBe(2)
    expect(errors).toHaveLength(2)
  })
})
