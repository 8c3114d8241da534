import type { Bus } from '@session-service/messaging'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { Logger } from '@nestjs/common'
import type { MasterMembership } from '../../media-nodes/master-membership.js'
import { DeadMaster } from './dead-master.js'
import type { SignallingGateway } from './signalling.gateway.js'

Logger.overrideLogger(false)

let renewedAt: number
let redirected: number
/** The leader counts this master as dead. */
let declare: () => void
let deadMaster: DeadMaster
beforeEach(() => {
  jest.useFakeTimers()
  ;[renewedAt, redirected] = [performance.now(), 0]
  const subscribe = (_subject: string, _schema: unknown, handler: () => void) => {
    declare = handler
    return { stop: () => Promise.resolve() }
  }
  const membership = { hasRenewedSince: (at: number) => renewedAt > at }
  const gateway = { redirectClients: () => Promise.resolve(++redirected) }
  deadMaster = new DeadMaster(
    { subscribe } as unknown as Bus,
    membership as MasterMembership,
    gateway as unknown as SignallingGateway,
    'one',
  )
  deadMaster.onApplicationBootstrap()
})
afterEach(async () => {
  await deadMaster.onModuleDestroy()
  jest.useRealTimers()
})

it('a master that counts as dead sends its clients away when it does not renew its row', async () => {
  declare()
  await jest.advanceTimersByTimeAsync(4_800)
  expect(redirected).toBe(0)
  await jest.advanceTimersByTimeAsync(400)
  expect(redirected).toBe(1)
})

it('a master that counts as dead and renews its row keeps its clients', async () => {
  declare()
  await jest.advanceTimersByTimeAsync(4_000)
  renewedAt = performance.now()
  await jest.advanceTimersByTimeAsync(20_000)
  expect(redirected).toBe(0)
})

it('a master that stops meanwhile sends no clients away: its shutdown does', async () => {
  declare()
  await jest.advanceTimersByTimeAsync(1_000)
  await deadMaster.onModuleDestroy()
  await jest.advanceTimersByTimeAsync(20_000)
  expect(redirected).toBe(0)
})
