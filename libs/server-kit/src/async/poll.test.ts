import { describe, expect, it } from '@jest/globals'
import { poll } from './poll.js'
import { sleep } from './sleep.js'

const LONG_MS = 60_000

describe('poll', () => {
  it('gives the first value that is neither undefined, null nor false', async () => {
    const values = [undefined, null, false, 0, 1]
    expect(await poll(() => values.shift(), { everyMs: 1 })).toBe(0)
    expect(values).toEqual([1])
  })

  it('returns undefined after the time limit, and probes at least once', async () => {
    let probes = 0
    const probe = (): boolean => ++probes > 1_000
    expect(await poll(probe, { everyMs: LONG_MS, timeoutMs: 0 })).toBeUndefined()
    expect(probes).toBe(1)
    expect(await poll(probe, { everyMs: LONG_MS, timeoutMs: 5 })).toBeUndefined()
    expect(probes).toBeGreaterThan(1)
  })

  it('rejects with the error of a probe', async () => {
    await expect(poll(() => Promise.reject(new Error('no')), { everyMs: 1 })).rejects.toThrow('no')
  })

  it('rejects with the reason of a signal that is aborted during a pause', async () => {
    const controller = new AbortController()
    const outcome = poll(() => false, { everyMs: LONG_MS, signal: controller.signal })
    controller.abort(new Error('the node shuts down'))
    await expect(outcome).rejects.toThrow('the node shuts down')
  })
})

describe('sleep', () => {
  it('resolves as soon as the signal is aborted', async () => {
    const controller = new AbortController()
    const asleep = sleep(LONG_MS, controller.signal)
    controller.abort()
    await asleep
    await sleep(LONG_MS, controller.signal)
    expect(controller.signal.aborted).toBe(true)
  })
})
