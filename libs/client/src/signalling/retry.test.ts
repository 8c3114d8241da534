import { CLOSE_CODE, ERROR_CODES, ServiceError } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { ManualClock, until } from '../fixtures/manual-clock.js'
import { isFinalClose, isPermanent, isRefusal, openWithRetries, retryDelay, retryTimeout } from './retry.js'

describe('retryDelay', () => {
  it('retries first within 50 ms, then with growing delays of up to two seconds', () => {
    expect([0, 1, 2, 3, 4, 20].map((attempt) => retryDelay(attempt, 0))).toEqual([0, 250, 500, 1_000, 1_000, 1_000])
    expect([0, 1, 2, 3, 4, 20].map((attempt) => Math.round(retryDelay(attempt, 0.9999)))).toEqual([
      50, 500, 1_000, 2_000, 2_000, 2_000,
    ])
  })
})

describe('retryTimeout', () => {
  it('gives the first attempt three seconds and later ones up to ten, longer than the delay of a browser', () => {
    expect([0, 1, 2, 3, 20].map(retryTimeout)).toEqual([3_000, 6_000, 10_000, 10_000, 10_000])
  })
})

describe('openWithRetries', () => {
  const refused = () => new ServiceError('UNAVAILABLE', 'the socket could not be opened')

  /** Opens with these outcomes of the attempts, each after `ms`; returns the result and the times of the attempts. */
  async function open(outcomes: (Error | string)[], ms = 10): Promise<{ result: unknown; attempts: number[] }> {
    const clock = new ManualClock(0)
    const startedAt = clock.now()
    const attempts: number[] = []
    let result: unknown
    const opening = openWithRetries(clock, async () => {
      const outcome = outcomes[attempts.length] ?? 'too many attempts'
      attempts.push(clock.now() - startedAt)
      clock.pass(ms)
      if (outcome instanceof Error) throw outcome
      return outcome
    }).then(
      (value) => (result = value),
      (error: unknown) => (result = error),
    )
    await until('it settles', () => {
      if (result === undefined) clock.pass(10)
      return result
    })
    await opening
    return { result, attempts }
  }

  it('opens a socket again that the server refuses at first, after growing delays', async () => {
    const { result, attempts } = await open([refused(), refused(), 'open'])
    expect(result).toBe('open')
    const [first = -1, second = 0, third = 0] = attempts
    expect(first).toBe(0)
    expect(second).toBeGreaterThanOrEqual(250)
    expect(third - second).toBeGreaterThanOrEqual(500)
  })

  it('gives up after five refusals', async () => {
    const { result, attempts } = await open(Array.from({ length: 5 }, refused))
    expect(result).toMatchObject({ code: 'UNAVAILABLE' })
    expect(attempts).toHaveLength(5)
  })

  it.each<[string, Error, number]>([
    ['an address that is not valid', new SyntaxError('not a URL'), 10],
    ['a server that does not answer', refused(), 3_001],
  ])('does not try %s again', async (_, error, ms) => {
    expect(await open([error], ms)).toEqual({ result: error, attempts: [0] })
  })
})

describe('the end of retries', () => {
  it('stops at an error that a later attempt would get too', () => {
    expect(ERROR_CODES.filter((code) => !isRefusal(code))).toEqual([
      'NO_CAPACITY',
      'UNAVAILABLE',
      'TIMEOUT',
      'RATE_LIMITED',
      'INTERNAL',
    ])
  })
  it('stops at an error of a media request that another node would return too', () => {
    expect(ERROR_CODES.filter(isPermanent)).toEqual([
      'INVALID',
      'UNAUTHENTICATED',
      'NOT_ALLOWED',
      'DISABLED',
      'CODEC_REFUSED',
    ])
  })
  it('stops at a close code for an evicted participant', () => {
    expect(Object.entries(CLOSE_CODE).filter(([, code]) => isFinalClose(code))).toEqual([
      ['done', CLOSE_CODE.done],
      ['replaced', CLOSE_CODE.replaced],
    ])
  })
})
