import { describe, expect, it } from '@jest/globals'
import { TimeoutError, unlessAborted, withTimeout } from './timeout.js'

const LONG_MS = 60_000
const never = new Promise<never>(() => undefined)

describe('withTimeout', () => {
  it('gives the result of a promise and of a function', async () => {
    expect(await withTimeout(Promise.resolve(1), LONG_MS, 'a step')).toBe(1)
    expect(await withTimeout(() => 2, LONG_MS, 'a step')).toBe(2)
  })

  it('passes on a failure, also one that is thrown at once', async () => {
    await expect(withTimeout(Promise.reject(new Error('no')), LONG_MS, 'a step')).rejects.toThrow('no')
    const failing = (): never => {
      throw new Error('at once')
    }
    await expect(withTimeout(failing, LONG_MS, 'a step')).rejects.toThrow('at once')
  })

  it('rejects with a TimeoutError that names the operation', async () => {
    const outcome = withTimeout(never, 1, 'closing the rooms')
    await expect(outcome).rejects.toThrow(TimeoutError)
    await expect(outcome).rejects.toThrow('closing the rooms did not finish within 1 ms')
  })

  it('rejects with the error of the caller', async () => {
    await expect(withTimeout(never, 1, (ms) => new RangeError(`${ms}`))).rejects.toThrow(new RangeError('1'))
  })

  it('handles a rejection that comes after the time limit', async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    await expect(withTimeout(promise, 1, 'a step')).rejects.toThrow(TimeoutError)
    reject(new Error('late'))
    await expect(promise).rejects.toThrow('late')
  })
})

describe('unlessAborted', () => {
  it('gives the outcome of the work while the signal is not aborted', async () => {
    const { signal } = new AbortController()
    expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
    await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
  })

  it('rejects with the reason of the signal, also of one that was aborted before', async () => {
    const controller = new AbortController()
    const outcome = unlessAborted(never, controller.signal)
    controller.abort(new Error('the node shuts down'))
    await expect(outcome).rejects.toThrow('the node shuts down')
    await expect(unlessAborted(never, controller.signal)).rejects.toThrow('the node shuts down')
  })
})
