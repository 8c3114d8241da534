import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { LegacyOffers } from './legacy-offers.js'

const STREAM = 'str_CAM_1'
const make = (mid: string) => async () => ({ sdpOffer: `offer ${mid}`, mids: [mid] })

let offers: LegacyOffers
let renewed: string[]
const renew = (reason: string): Promise<void> => offers.renew(STREAM, async () => void renewed.push(reason))

beforeEach(() => {
  jest.useFakeTimers()
  offers = new LegacyOffers()
  renewed = []
})
afterEach(() => {
  jest.useRealTimers()
})

it('an offer without an answer delays the next one by 10 s', async () => {
  await offers.make(STREAM, make('a'))
  const renewal = renew('replaced')
  await jest.advanceTimersByTimeAsync(9_999)
  expect(renewed).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  await renewal
  expect(renewed).toEqual(['replaced'])
})

it('the end of a stream, and lost media, end the wait for answers', async () => {
  for (const end of [() => offers.forget(STREAM), () => offers.clear()]) {
    await offers.make(STREAM, make('a'))
    const idle = offers.idle(STREAM)
    end()
    await idle
    expect(offers.awaitsAnswer(STREAM)).toBe(false)
  }
})

it('an offer that the client requests meanwhile takes the place of a renewal', async () => {
  await offers.make(STREAM, make('a'))
  const renewal = renew('replaced')
  await offers.make(STREAM, make('b'))
  await offers.answer(STREAM, ['b'], async () => undefined)
  await renewal
  expect(renewed).toEqual([])
})

it('an offer that cannot be made awaits no answer, and the one before it may be answered', async () => {
  await offers.make(STREAM, make('a'))
  await expect(offers.make(STREAM, () => Promise.reject(new Error('no capacity')))).rejects.toThrow('no capacity')
  expect(offers.awaitsAnswer(STREAM)).toBe(false)
  expect(await offers.answer(STREAM, ['a'], async () => undefined)).toBe(true)
})

it('a renewal takes place although the offer that the client has requested could not be made', async () => {
  const failed = offers.make(STREAM, () => Promise.reject(new Error('no capacity')))
  const renewal = renew('replaced')
  await expect(failed).rejects.toThrow('no capacity')
  await renewal
  expect(renewed).toEqual(['replaced'])
})

it('an offer is made after one that cannot be made', async () => {
  const failed = offers.make(STREAM, () => Promise.reject(new Error('no capacity')))
  const next = offers.make(STREAM, make('b'))
  await expect(failed).rejects.toThrow('no capacity')
  expect(await next).toBe('offer b')
})

it.each([
  ['the newest offer', ['b', 'other'], true],
  ['a replaced offer', ['a'], false],
])('an answer to %s is used or not, and once at most', async (_, mids, isUsed) => {
  await offers.make(STREAM, make('a'))
  await offers.make(STREAM, make('b'))
  expect(await offers.answer(STREAM, mids, async () => undefined)).toBe(isUsed)
  expect(offers.awaitsAnswer(STREAM)).toBe(!isUsed)
  expect(await offers.answer(STREAM, mids, async () => undefined)).toBe(false)
})

it('the answer to an offer of another master is used', async () => {
  expect(await offers.answer(STREAM, ['z'], async () => undefined)).toBe(true)
})
