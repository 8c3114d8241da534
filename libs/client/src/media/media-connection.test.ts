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

describe('MediaLine', () => {
  let clock: ManualClock
  let log: string[]
  let engines: StubEngine[]
  /** What `rejoin` answers, first to last; the last for good. */
  let answers: (RejoinResult | Promise<RejoinResult> | Error)[]
  let line: MediaConnection

  beforeEach(async () => {
    clock = new ManualClock()
    log = []
    answers = [at(2)]
    const stubs = stubEngines()
    engines = stubs.engines
    const options = { clock, call: () => Promise.reject(unavailable()), exception: () => {} }
    const open = (place: Parameters<typeof stubs.open>[0]): Promise<Engine> => stubs.open(place, options)
    line = new MediaConnection(await open(at(1)), 1, {
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
      onRestored: () => log.push('back'),
      onRefused: () => log.push('refused'),
    })
  })
  const passUntil = (what: string, check: () => boolean, step = 250): Promise<boolean> =>
    until(what, () => {
      if (!check()) clock.pass(step)
      return check()
    })
  const back = (times = 1): Promise<boolean> =>
    passUntil('back', () => log.filter((entry) => entry === 'back').length === times)

  it('comes back after the time that the server gave, and not before', async () => {
    line.epochSeen(2, 700)
    expect(engines[0]?.state).toBe('retired')
    clock.pass(699)
    expect(log).toEqual(['lost'])
    clock.pass(1)
    await back()
    expect(log).toEqual(['lost', 'rejoin', 'rejoined 2', 'back'])
    expect(line.engine).toBe(engines[1])
  })

  it.each<[string, (on: MediaConnection) => void, boolean]>([
    ['a snapshot with the same epoch', (on) => on.epochSeen(1), false],
    ['late news of what was lost before', (on) => on.epochSeen(1, 0), false],
    ['a snapshot with a newer one', (on) => on.epochSeen(2), true],
    ['a snapshot with a much newer one', (on) => on.epochSeen(7), true],
  ])('%s', (_, happens, isLoss) => {
    happens(line)
    expect(log).toEqual(isLoss ? ['lost'] : [])
  })

  it('takes the same loss once, however often it is told', async () => {
    line.epochSeen(2, 0)
    line.epochSeen(2)
    line.epochSeen(2, 0)
    await back()
    line.epochSeen(2, 0)
    line.epochSeen(2)
    expect(log).toEqual(['lost', 'rejoin', 'rejoined 2', 'back'])
  })

  it.each(['UNAVAILABLE', 'NO_CAPACITY', 'TIMEOUT', 'CONFLICT', 'NOT_FOUND', 'INTERNAL'] as const)(
    'tries again after %s, less and less often',
    async (code) => {
      answers = [...Array.from({ length: 6 }, () => new ServiceError(code, 'not now')), at(2)]
      line.epochSeen(2, 0)
      await back()
      expect(log.filter((entry) => entry === 'rejoin')).toHaveLength(7)
      expect(clock.now()).toBeGreaterThan(1_000_000 + 5_000)
    },
  )

  it('says so when the server will not have it back', async () => {
    answers = [new ServiceError('UNAUTHENTICATED', 'the connection has ended')]
    line.epochSeen(2, 0)
    await passUntil('refused', () => log.includes('refused'))
    line.close()
    expect(log).toEqual(['lost', 'rejoin', 'refused'])
  })

  it('does not use an answer for media that is lost again meanwhile', async () => {
    const first = deferred<RejoinResult>()
    answers = [first.promise, at(3)]
    line.epochSeen(2, 0)
    await passUntil('asked', () => log.includes('rejoin'))
    line.epochSeen(3, 0)
    first.resolve(at(2))
    await back()
    expect(log).toEqual(['lost', 'rejoin', 'rejoin', 'rejoined 3', 'back'])
  })

  it('holds back what is to run in the gap, and runs it where the media is then', async () => {
    line.epochSeen(2, 0)
    const ran = line.run(async (engine) => engines.indexOf(engine as StubEngine))
    await back()
    expect(await ran).toBe(1)
  })

  it('runs again what failed because the media was lost under it', async () => {
    const tried: number[] = []
    const ran = line.run(async (engine) => {
      tried.push(engines.indexOf(engine as StubEngine))
      if (tried.length > 1) return 'done'
      line.epochSeen(2, 0)
      throw new Error('the transport is closed')
    })
    await back()
    expect(await ran).toBe('done')
    expect(tried).toEqual([0, 1])
  })

  it('waits for the news of the loss when the node does not answer', async () => {
    let tries = 0
    const ran = line.run(async () => (++tries === 1 ? Promise.reject(unavailable()) : 'done'))
    await until('the first try', () => tries === 1 && clock.pending > 0)
    clock.pass(MEDIA_TIMEOUTS.lossReport - 1)
    line.epochSeen(2, 0)
    await back()
    expect(await ran).toBe('done')
  })

  it.each<[string, Error, number]>([
    ['of a node that does not answer, when no loss becomes known', unavailable(), MEDIA_TIMEOUTS.lossReport],
    ['of any other kind, at once', new ServiceError('NOT_ALLOWED', 'a SUBSCRIBER may not'), 0],
    [
      'of an answer that was lost with its socket, at once',
      new ServiceError('UNAVAILABLE', 'publish: closed', { cause: new SocketLost(1006) }),
      0,
    ],
  ])('gives the error %s', async (_, error, after) => {
    let outcome: unknown
    line
      .run(() => Promise.reject(error))
      .catch((reason: unknown) => {
        outcome = reason
      })
    await until('it is waiting or over', () => outcome !== undefined || clock.pending > 0)
    if (after > 0) clock.pass(after - 1)
    if (after > 0) expect(outcome).toBeUndefined()
    clock.pass(1)
    await until('the error', () => outcome !== undefined)
    expect(outcome).toBe(error)
  })

  it('fails what waits in the gap when the session ends', async () => {
    line.epochSeen(2, 60_000)
    const ran = line.run(() => Promise.resolve('never'))
    line.close()
    await expect(ran).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(clock.pending).toBe(0)
    clock.pass(100_000)
    expect(log).toEqual(['lost'])
  })

  it('uses no answer that comes after the session has ended', async () => {
    const answer = deferred<RejoinResult>()
    answers = [answer.promise]
    line.epochSeen(2, 0)
    await passUntil('asked', () => log.includes('rejoin'))
    line.close()
    answer.resolve(at(2))
    await answer.promise
    clock.pass(60_000)
    expect(log).toEqual(['lost', 'rejoin'])
    expect(engines.map(({ state }) => state)).toEqual(['closed'])
  })

  describe('restores what was there', () => {
    it('trying again while the server cannot just now', async () => {
      let tries = 0
      line.epochSeen(2, 0)
      const restored = line.restore(async () => (++tries < 4 ? Promise.reject(unavailable()) : undefined))
      await passUntil('the last try', () => tries === 4)
      await restored
    })

    it('on the next node when there is a second loss', async () => {
      const used: number[] = []
      answers = [at(2), at(3)]
      line.epochSeen(2, 0)
      const restored = line.restore(async (engine) => {
        used.push(engines.indexOf(engine as StubEngine))
        if (used.length === 1) line.epochSeen(3, 0)
      })
      await back(2)
      await restored
      expect(used).toEqual([1, 2])
      expect(log.filter((entry) => entry === 'lost')).toHaveLength(2)
    })

    it.each<[string, Error, number]>([
      ['not for ever', unavailable(), MEDIA_TIMEOUTS.restoreStreams],
      ['not at all when it is refused', new ServiceError('NOT_ALLOWED', 'a SUBSCRIBER may not'), 0],
      ['not at all when it is this side that cannot', new TypeError('track ended'), 0],
    ])('%s', async (_, error, least) => {
      let outcome: unknown
      let upAt = 0
      line.epochSeen(2, 0)
      line
        .restore(() => {
          upAt ||= clock.now()
          return Promise.reject(error)
        })
        .catch((reason: unknown) => {
          outcome = reason
        })
      await passUntil('given up', () => outcome !== undefined)
      expect(outcome).toBe(error)
      expect(clock.now() - upAt).toBeGreaterThanOrEqual(least)
      expect(clock.now() - upAt).toBeLessThan(least + 5_000)
    })
  })
})
