import { ServiceError } from '@session-service/contract'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { deferred } from '../platform/deferred.js'
import { ManualClock, until } from '../fixtures/manual-clock.js'
import { joinResult } from '../fixtures/samples.js'
import { type StubEngine, stubEngines } from '../fixtures/stub-engine.js'
import type { Engine } from './engine.js'
import { MEDIA_TIMEOUTS, MediaConnection } from './media-connection.js'
import { SocketLost } from '../signalling/rpc-socket.js'
import type { RejoinResult } from '../signalling/signalling.js'

const at = (mediaEpoch: number): RejoinResult => {
  const { routerRtpCapabilities, sendTransport, recvTransport, iceServers, snapshot } = joinResult({ mediaEpoch })
  return { routerRtpCapabilities, sendTransport, recvTransport, iceServers, snapshot }
}
const unavailable = (): ServiceError => new ServiceError('UNAVAILABLE', 'the media is being moved')

describe('MediaConnection', () => {
  let clock: ManualClock
  let log: string[]
  let engines: StubEngine[]
  /** The answers of `rejoin`, in order; the last one repeats. */
  let answers: (RejoinResult | Promise<RejoinResult> | Error)[]
  let connection: MediaConnection

  beforeEach(async () => {
    clock = new ManualClock()
    log = []
    answers = [at(2)]
    const stubs = stubEngines()
    engines = stubs.engines
    const options = { clock, call: () => Promise.reject(unavailable()), exception: () => {}, stateChanged: () => {} }
    const open = (place: Parameters<typeof stubs.open>[0]): Promise<Engine> => stubs.open(place, options)
    connection = new MediaConnection(await open(at(1)), 1, {
      clock,
      open,
      rejoin: () => {
        log.push('rejoin')
        const answer = answers.length > 1 ? answers.shift() : answers[0]
        if (answer instanceof Error) return Promise.reject(answer)
        return Promise.resolve(answer ?? Promise.reject(unavailable()))
      },
      onLost: () => log.push('lost'),
      onRejoined: ({ mediaEpoch }) => log.push(`rejoined ${mediaEpoch}`),
      onRestored: () => log.push('restored'),
      onRefused: () => log.push('refused'),
    })
  })
  const passUntil = (what: string, check: () => boolean, step = 250): Promise<boolean> =>
    until(what, () => {
      if (!check()) clock.pass(step)
      return check()
    })
  const mediaRestored = (times = 1): Promise<boolean> =>
    passUntil('the media is restored', () => log.filter((entry) => entry === 'restored').length === times)

  it('rejoins after the delay that the server announced, and not before', async () => {
    connection.epochSeen(2, 700)
    expect(engines[0]?.state).toBe('retired')
    clock.pass(699)
    expect(log).toEqual(['lost'])
    clock.pass(1)
    await mediaRestored()
    expect(log).toEqual(['lost', 'rejoin', 'rejoined 2', 'restored'])
    expect(connection.engine).toBe(engines[1])
  })

  it.each<[string, (on: MediaConnection) => void, boolean]>([
    ['ignores a snapshot with the same epoch', (on) => on.epochSeen(1), false],
    ['ignores a late report of an earlier loss', (on) => on.epochSeen(1, 0), false],
    ['detects a loss from a snapshot with a newer epoch', (on) => on.epochSeen(2), true],
    ['detects a loss from a snapshot with a much newer epoch', (on) => on.epochSeen(7), true],
  ])('%s', (_, happens, isLoss) => {
    happens(connection)
    expect(log).toEqual(isLoss ? ['lost'] : [])
  })

  it('handles a loss once, although it is reported repeatedly', async () => {
    connection.epochSeen(2, 0)
    connection.epochSeen(2)
    connection.epochSeen(2, 0)
    await mediaRestored()
    connection.epochSeen(2, 0)
    connection.epochSeen(2)
    expect(log).toEqual(['lost', 'rejoin', 'rejoined 2', 'restored'])
  })

  it.each(['UNAVAILABLE', 'NO_CAPACITY', 'TIMEOUT', 'CONFLICT', 'NOT_FOUND', 'INTERNAL'] as const)(
    'retries after %s with growing delays',
    async (code) => {
      answers = [...Array.from({ length: 6 }, () => new ServiceError(code, 'not now')), at(2)]
      connection.epochSeen(2, 0)
      await mediaRestored()
      expect(log.filter((entry) => entry === 'rejoin')).toHaveLength(7)
      expect(clock.now()).toBeGreaterThan(1_000_000 + 5_000)
    },
  )

  it('reports a refusal of the server', async () => {
    answers = [new ServiceError('UNAUTHENTICATED', 'the connection has ended')]
    connection.epochSeen(2, 0)
    await passUntil('refused', () => log.includes('refused'))
    connection.close()
    expect(log).toEqual(['lost', 'rejoin', 'refused'])
  })

  it('ignores an answer for media that was lost again meanwhile', async () => {
    const first = deferred<RejoinResult>()
    answers = [first.promise, at(3)]
    connection.epochSeen(2, 0)
    await passUntil('asked', () => log.includes('rejoin'))
    connection.epochSeen(3, 0)
    first.resolve(at(2))
    await mediaRestored()
    expect(log).toEqual(['lost', 'rejoin', 'rejoin', 'rejoined 3', 'restored'])
  })

  it('delays tasks during a loss, and runs them on the next node', async () => {
    connection.epochSeen(2, 0)
    const ran = connection.run(async (engine) => engines.indexOf(engine as StubEngine))
    await mediaRestored()
    expect(await ran).toBe(1)
  })

  it('repeats a task that failed because the media was lost', async () => {
    const tried: number[] = []
    const ran = connection.run(async (engine) => {
      tried.push(engines.indexOf(engine as StubEngine))
      if (tried.length > 1) return 'done'
      connection.epochSeen(2, 0)
      throw new Error('the transport is closed')
    })
    await mediaRestored()
    expect(await ran).toBe('done')
    expect(tried).toEqual([0, 1])
  })

  it('waits for the report of the loss when the node does not answer', async () => {
    let tries = 0
    const ran = connection.run(async () => (++tries === 1 ? Promise.reject(unavailable()) : 'done'))
    await until('the first attempt', () => tries === 1 && clock.pending > 0)
    clock.pass(MEDIA_TIMEOUTS.lossReport - 1)
    connection.epochSeen(2, 0)
    await mediaRestored()
    expect(await ran).toBe('done')
  })

  it.each<[string, Error, number]>([
    ['of an unresponsive node when no loss is reported', unavailable(), MEDIA_TIMEOUTS.lossReport],
    ['of any other kind at once', new ServiceError('NOT_ALLOWED', 'a SUBSCRIBER may not'), 0],
    [
      'of an answer that was lost with its socket, at once',
      new ServiceError('UNAVAILABLE', 'publish: closed', { cause: new SocketLost(1006) }),
      0,
    ],
  ])('rejects with the error %s', async (_, error, after) => {
    let outcome: unknown
    connection
      .run(() => Promise.reject(error))
      .catch((reason: unknown) => {
        outcome = reason
      })
    await until('the task waits or has ended', () => outcome !== undefined || clock.pending > 0)
    if (after > 0) clock.pass(after - 1)
    if (after > 0) expect(outcome).toBeUndefined()
    clock.pass(1)
    await until('the error', () => outcome !== undefined)
    expect(outcome).toBe(error)
  })

  it('rejects waiting tasks when the session ends', async () => {
    connection.epochSeen(2, 60_000)
    const ran = connection.run(() => Promise.resolve('never'))
    connection.close()
    await expect(ran).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(clock.pending).toBe(0)
    clock.pass(100_000)
    expect(log).toEqual(['lost'])
  })

  it('rejects a task that the end of the session interrupts in the browser', async () => {
    const step = deferred<void>()
    const ran = connection.run(() => step.promise)
    const stopped = new Error('AwaitQueue stopped')
    connection.close()
    step.reject(stopped)
    await expect(ran).rejects.toMatchObject({ code: 'UNAVAILABLE', cause: stopped })
  })

  it('ignores an answer after the session has ended', async () => {
    const answer = deferred<RejoinResult>()
    answers = [answer.promise]
    connection.epochSeen(2, 0)
    await passUntil('asked', () => log.includes('rejoin'))
    connection.close()
    answer.resolve(at(2))
    await answer.promise
    clock.pass(60_000)
    expect(log).toEqual(['lost', 'rejoin'])
    expect(engines.map(({ state }) => state)).toEqual(['closed'])
  })

  describe('restore', () => {
    it('retries after transient errors', async () => {
      let tries = 0
      connection.epochSeen(2, 0)
      const restored = connection.restore(async () => (++tries < 4 ? Promise.reject(unavailable()) : undefined))
      await passUntil('the last attempt', () => tries === 4)
      await restored
    })

    it('continues on the next node after a second loss', async () => {
      const used: number[] = []
      answers = [at(2), at(3)]
      connection.epochSeen(2, 0)
      const restored = connection.restore(async (engine) => {
        used.push(engines.indexOf(engine as StubEngine))
        if (used.length === 1) connection.epochSeen(3, 0)
      })
      await mediaRestored(2)
      await restored
      expect(used).toEqual([1, 2])
      expect(log.filter((entry) => entry === 'lost')).toHaveLength(2)
    })

    it.each<[string, Error, number]>([
      ['stops retrying a transient error after the time limit', unavailable(), MEDIA_TIMEOUTS.restoreStreams],
      ['does not retry after a refusal', new ServiceError('NOT_ALLOWED', 'a SUBSCRIBER may not'), 0],
      ['does not retry after a local error', new TypeError('track ended'), 0],
    ])('%s', async (_, error, least) => {
      let outcome: unknown
      let upAt = 0
      connection.epochSeen(2, 0)
      connection
        .restore(() => {
          upAt ||= clock.now()
          return Promise.reject(error)
        })
        .catch((reason: unknown) => {
          outcome = reason
        })
      await passUntil('the restoration failed', () => outcome !== undefined)
      expect(outcome).toBe(error)
      expect(clock.now() - upAt).toBeGreaterThanOrEqual(least)
      expect(clock.now() - upAt).toBeLessThan(least + 5_000)
    })
  })
})
