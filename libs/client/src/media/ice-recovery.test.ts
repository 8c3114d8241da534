import { beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock } from '../fixtures/manual-clock.js'
import { ICE_TIMEOUTS, IceRecovery } from './ice-recovery.js'

describe('IceRecovery', () => {
  let clock: ManualClock
  let log: string[]
  let recovery: IceRecovery
  let canRestart: boolean

  const newRecovery = (): IceRecovery =>
    new IceRecovery(clock, {
      restart: () => {
        log.push('restart')
        return canRestart ? Promise.resolve() : Promise.reject(new Error('no socket'))
      },
      exception: (name) => void log.push(name),
    })

  beforeEach(() => {
    clock = new ManualClock()
    log = []
    canRestart = true
    recovery = newRecovery()
    recovery.changed('connecting')
    recovery.changed('connected')
  })

  it('does not restart after a short interruption', () => {
    recovery.changed('disconnected')
    clock.pass(ICE_TIMEOUTS.restart - 1)
    recovery.changed('connected')
    clock.pass(60_000)
    expect(log).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('restarts after 2 s of interruption and reports once after 4 s', () => {
    recovery.changed('disconnected')
    clock.pass(ICE_TIMEOUTS.restart)
    expect(log).toEqual(['restart'])
    clock.pass(ICE_TIMEOUTS.exception - ICE_TIMEOUTS.restart)
    expect(log).toEqual(['restart', 'ICE_CONNECTION_DISCONNECTED'])
    clock.pass(ICE_TIMEOUTS.firstRetry)
    expect(log).toEqual(['restart', 'ICE_CONNECTION_DISCONNECTED', 'restart'])
  })

  it('restarts a failed transport at once, and again with growing delays when the requests fail', () => {
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

  it('resets the back-off after the transport was connected again', () => {
    recovery.changed('failed')
    recovery.changed('connected')
    expect(clock.pending).toBe(0)
    recovery.changed('failed')
    expect(log).toEqual(['ICE_CONNECTION_FAILED', 'restart', 'ICE_CONNECTION_FAILED', 'restart'])
  })

  it('restarts a disconnected transport when the socket is open again, but not a connected one', () => {
    recovery.signallingResumed()
    expect(log).toEqual([])
    recovery.changed('disconnected')
    recovery.signallingResumed()
    expect(log).toEqual(['restart'])
  })

  describe('of a transport that is used for the first time', () => {
    beforeEach(() => {
      recovery = newRecovery()
      recovery.opened()
    })

    it('restarts ICE when the browser finds no candidate pair and reports no state', () => {
      clock.pass(ICE_TIMEOUTS.opening - 1)
      expect(log).toEqual([])
      clock.pass(1)
      expect(log).toEqual(['ICE_CONNECTION_FAILED', 'restart'])
      clock.pass(ICE_TIMEOUTS.firstRetry)
      expect(log).toEqual(['ICE_CONNECTION_FAILED', 'restart', 'restart'])
    })

    it('does nothing when the transport connects in time, or is closed', () => {
      recovery.changed('connecting')
      recovery.changed('connected')
      clock.pass(60_000)
      const closed = newRecovery()
      closed.opened()
      closed.stop()
      clock.pass(60_000)
      expect(log).toEqual([])
      expect(clock.pending).toBe(0)
    })

    it('does not restart a second time after the browser has reported a failure', () => {
      recovery.changed('failed')
      recovery.changed('connected')
      clock.pass(60_000)
      expect(log).toEqual(['ICE_CONNECTION_FAILED', 'restart'])
    })
  })

  it('does nothing after it was closed', () => {
    recovery.changed('disconnected')
    recovery.changed('closed')
    clock.pass(60_000)
    recovery.changed('failed')
    expect(log).toEqual([])
  })
})
