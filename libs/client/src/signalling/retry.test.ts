import { CLOSE_CODE, ERROR_CODES } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { isFinalClose, isPermanent, isRefusal, retryDelay, retryTimeout } from './retry.js'

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
