import { beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock } from '../fixtures/manual-clock.js'
import { ICE_TIMEOUTS, IceRecovery } from './ice-recovery.js'

describe('IceRecovery', () => {
  let clock: ManualClock
  let log: string[]
  let recovery: IceRecovery
  let canRestart: boolean

  beforeEach(() => {
    clock = new ManualClock()
    log = []
    canRestart = true
    recovery = new IceRecovery(clock, {
      restart: () => {
        log.push('restart')
        return canRestart ? Promise.resolve() : Promise.reject(new Error('no socket'))
      },
      exception: (name) => void log.push(name),
    })
    recovery.changed('connecting')
    recovery.changed('connected')
  })

  it('leaves a short interruption alone', () => {
    recovery.changed('disconnected')
    clock.pass(ICE_TIMEOUTS.restart - 1)
    recovery.changed('connected')
    clock.pass(60_000)
    expect(log).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('restarts after 2 s of interruption and tells after 4 s, once', () => {
    recovery.changed('disconnected')
    clock.pass(ICE_TIMEOUTS.restart)
    expect(log).toEqual(['restart'])
    clock.pass(ICE_TIMEOUTS.exception - ICE_TIMEOUTS.restart)
    expect(log).toEqual(['restart', 'ICE_CONNECTION_DISCONNECTED'])
    clock.pass(ICE_TIMEOUTS.firstRetry)
    expect(log).toEqual(['restart', 'ICE_CONNECTION_DISCONNECTED', 'restart'])
  })

  it('restarts a failed transport at once, and again with growing pauses though nobody answers', () => {
    canRestart = false
    recovery.changed('failed')
    expect(log).toEqual(['ICE_CONNECTION_FAILED', 'restart'])
    const restarts = (): number => log.filter((entry) => entry === 'restart').length
    clock.pass(ICE_TIMEOUTS.firstRetry - 1)
    expect(restarts()).toBe(1)
    clock.pass(1)
    expect(restarts()).toBe(2)
    clock.pass(ICE_TIMEOUTS.firstRetry * 2)
    expect(restarts()).toBe(3)
    clock.pass(10 * ICE_TIMEOUTS.longestRetry)
    expect(restarts()).toBeLessThanOrEqual(3 + 11)
    expect(log.filter((entry) => entry !== 'restart')).toEqual(['ICE_CONNECTION_FAILED'])
  })

  it('does not restart twice when a restart makes the state pass through failed', () => {
    recovery.changed('disconnected')
    clock.pass(ICE_TIMEOUTS.restart)
    recovery.changed('connecting')
    recovery.changed('failed')
    expect(log).toEqual(['restart', 'ICE_CONNECTION_FAILED'])
  })

  it('starts anew after it was connected again', () => {
    recovery.changed('failed')
    recovery.changed('connected')
    expect(clock.pending).toBe(0)
    recovery.changed('failed')
    expect(log).toEqual(['ICE_CONNECTION_FAILED', 'restart', 'ICE_CONNECTION_FAILED', 'restart'])
  })

  it('restarts what is not connected when the socket is back, and only that', () => {
    recovery.signallingResumed()
    expect(log).toEqual([])
    recovery.changed('disconnected')
    recovery.signallingResumed()
    expect(log).toEqual(['restart'])
  })

  it('is still once it is closed', () => {
    recovery.changed('disconnected')
    recovery.changed('closed')
    clock.pass(60_000)
    recovery.changed('failed')
    expect(log).toEqual([])
  })
})
