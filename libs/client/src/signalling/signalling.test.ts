import { CLOSE_CODE, SIGNALLING_LIMITS, SIGNALLING_WINDOWS, ServiceError } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock, until } from '../fixtures/manual-clock.js'
import { connectionInfo, joinResult } from '../fixtures/samples.js'
import { FakeSignallingServer } from '../fixtures/fake-signalling-server.js'
import { Signalling } from './signalling.js'
import { SIGNALLING_TIMEOUTS } from './timeouts.js'

const snapshot = { connections: [connectionInfo('con_own')], streams: [], mediaEpoch: 1 }
const unpublish = { streamId: 'str_a' }
const done = { result: {} } as const

describe('Signalling', () => {
  let server: FakeSignallingServer
  let clock: ManualClock
  let log: string[]
  let signalling: Signalling
  let onReconnecting: () => void

  beforeEach(async () => {
    server = await FakeSignallingServer.start()
    clock = new ManualClock()
    log = []
    onReconnecting = () => {}
    server.answer('join', () => ({ result: joinResult() }))
    server.answer('resume', () => ({ result: { role: 'PUBLISHER', record: true, snapshot } }))
    signalling = await join()
    signalling.start()
  })
  afterEach(async () => {
    signalling.close()
    await server.stop()
  })

  const join = async (): Promise<Signalling> => {
    const params = { token: 'tok_secret', clientData: 'me' }
    const participant = await Signalling.join(server.url, params, clock, {
      notified: ({ method }) => log.push(method),
      reconnecting: () => (log.push('reconnecting'), onReconnecting()),
      resumed: (_, announced) => log.push(announced ? 'resumed' : 'moved'),
      lost: () => log.push('lost'),
    })
    return participant.signalling
  }
  const cut = (): void => server.last.terminate()
  /** Advances the clock until `check` holds. */
  const passUntil = <T>(what: string, check: () => T | undefined | false, step = 50): Promise<T> =>
    until(what, () => {
      const found = check()
      if (found === undefined || found === false) clock.pass(step)
      return found
    })

  it('opens the URL of the token and joins with its secret', () => {
    expect(server.urls).toEqual(['/service/signalling?sessionId=tea&token=tok_secret'])
    expect(server.calls('join')[0]?.params).toEqual({ token: 'tok_secret', clientData: 'me' })
  })

  it('joins when the server refuses the first two requests for a socket, with the third one', async () => {
    server.busyFor = 2
    let other: Signalling | undefined
    void join().then((joined) => (other = joined))
    await passUntil('the join', () => other)
    expect(server.busyFor).toBeLessThan(0)
    expect(server.calls('join')).toHaveLength(2)
    other?.close()
  })

  it('joins and resumes with the request for the socket', async () => {
    cut()
    await passUntil('the resume', () => log.includes('resumed'))
    const calls = [...server.calls('join'), ...server.calls('resume')]
    expect(calls.map(({ method, isFirstFrame }) => [method, isFirstFrame])).toEqual([
      ['join', true],
      ['resume', true],
    ])
  })

  it('resumes at a server that does not read the first frame in the request for the socket', async () => {
    server.readsFirstFrames = false
    cut()
    await passUntil('the resume', () => log.includes('resumed'))
    expect(server.calls('resume').map(({ isFirstFrame }) => isFirstFrame)).toEqual([false])
  })

  it('joins with any ICE servers from the server', async () => {
    const iceServers = ['turn:turn_server:3478', 'stun:host:3478?transport=udp', 'turn://host'].map((url) => ({ url }))
    server.answer('join', () => ({ result: { ...joinResult(), iceServers } }))
    const params = { token: 'tok_secret', clientData: 'me' }
    const handlers = { notified: () => {}, reconnecting: () => {}, resumed: () => {}, lost: () => {} }
    const other = await Signalling.join(server.url, params, clock, handlers)
    other.signalling.close()
    expect(other.joined.iceServers).toEqual(iceServers)
  })

  it('rejects with the reason of the refusal and closes the socket when it may not join', async () => {
    server.answer('join', () => ({ error: new ServiceError('UNAUTHENTICATED', 'the token is not valid') }))
    const sockets = server.sockets.length
    await expect(join()).rejects.toMatchObject({ code: 'UNAUTHENTICATED', message: 'the token is not valid' })
    await until('its socket is closed', () => server.sockets[sockets]?.readyState === 3)
  })

  it('rejects with UNAVAILABLE when the server closes the socket before it answers', async () => {
    server.answer('join', () => (cut(), 'silence'))
    await expect(join()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/before the answer to join/),
    })
  })

  it('rejects an invalid call before sending it and names the field', async () => {
    await expect(signalling.call('unpublish', { streamId: 'a b' })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(/^unpublish: streamId: may hold only/),
    })
    expect(server.calls('unpublish')).toEqual([])
  })

  it('rejects a call that the server would close the socket for, because its frame is too long', async () => {
    // Valid text whose characters need six bytes each.
    const data = '\u0001'.repeat(65_536)
    const options = { image: 'x'.repeat(262_144) }
    for (const call of [
      signalling.call('signal', { data }),
      signalling.call('applyFilter', { streamId: 'str_A', type: 'ImageOverlayFilter', options }),
    ])
      await expect(call).rejects.toMatchObject({
        code: 'INVALID',
        message: expect.stringMatching(/261888 bytes as JSON$/),
      })
    expect([...server.calls('signal'), ...server.calls('applyFilter')]).toEqual([])
  })

  it('sends the ids of received signals when it resumes, and emits each signal once', async () => {
    const signals = (): number => log.filter((entry) => entry === 'signal').length
    const send = (signalId: number): void =>
      server.send({ jsonrpc: '2.0', method: 'signal', params: { type: 'signal', data: '' }, signalId })
    send(7)
    await until('the first', () => signals() === 1)
    cut()
    await passUntil('resumed', () => log.includes('resumed'))
    expect(server.calls('resume')[0]?.params).toMatchObject({ receivedSignals: [7] })
    send(7)
    send(8)
    server.notify('connectionDestroyed', { connectionId: 'con_a', reason: 'disconnect' })
    await until('the last', () => log.includes('connectionDestroyed'))
    expect(signals()).toBe(2)
  })

  it('pings at the interval of the server', async () => {
    for (const count of [1, 2, 3]) {
      clock.pass(3_000)
      await until(`ping ${count}`, () => server.calls('ping').length === count)
    }
  })

  it('pings the server at once after the computer slept, and keeps a working socket', async () => {
    const asked = server.calls('ping').length
    clock.sleep(3_600_000)
    clock.pass(SIGNALLING_TIMEOUTS.watch)
    await until('a ping', () => server.calls('ping').length === asked + 1)
    clock.pass(SIGNALLING_TIMEOUTS.watch)
    await until('an answer', () => server.calls('ping').length >= asked + 1)
    expect(log).toEqual([])
  })

  it('resumes within seconds after the computer slept, when its socket is dead', async () => {
    server.answer('ping', () => 'silence')
    clock.sleep(3_600_000)
    clock.pass(SIGNALLING_TIMEOUTS.watch)
    await until('a ping', () => server.calls('ping').length > 0)
    clock.pass(SIGNALLING_TIMEOUTS.probe)
    await passUntil('resumed', () => log.includes('resumed'))
    expect(log).toEqual(['reconnecting', 'resumed'])
  })

  it('keeps its socket when the clock of the computer is set back', async () => {
    clock.sleep(-3_600_000)
    for (let pings = 1; pings <= 5; pings++) {
      clock.pass(SIGNALLING_WINDOWS.ping)
      await until(`ping ${pings}`, () => server.calls('ping').length === pings)
    }
    expect(log).toEqual([])
  })

  it('replaces a socket that has been silent for too long', async () => {
    server.answer('ping', () => 'silence')
    clock.pass(SIGNALLING_WINDOWS.silent)
    expect(log).toEqual([])
    clock.pass(1_000)
    expect(log).toEqual(['reconnecting'])
    await passUntil('resumed', () => log.includes('resumed'))
    await until('the old socket is closed', () => server.sockets[0]?.readyState === 3)
  })

  it('resumes with the resume key after its socket was cut, and emits each event once', async () => {
    cut()
    await passUntil('resumed', () => log.includes('resumed'))
    expect(log).toEqual(['reconnecting', 'resumed'])
    expect(server.calls('resume')).toMatchObject([{ params: { connectionId: 'con_own', resumeKey: 'key' }, socket: 2 }])
    expect(server.urls[1]).toBe(server.urls[0])
    cut()
    await passUntil('resumed again', () => log.filter((entry) => entry === 'resumed').length === 2)
    expect(log).toEqual(['reconnecting', 'resumed', 'reconnecting', 'resumed'])
  })

  it('keeps retrying while the server is unreachable', async () => {
    server.refuse(true)
    cut()
    await passUntil('four tries', () => server.urls.length >= 5, 20)
    expect(log).toEqual(['reconnecting'])
    server.refuse(false)
    await passUntil('resumed', () => log.includes('resumed'))
  })

  it('retries after a transient error of the server', async () => {
    server.answer('resume', ({ socket }) =>
      socket < 4
        ? { error: new ServiceError('UNAVAILABLE', 'no bus') }
        : { result: { role: 'PUBLISHER', record: true, snapshot } },
    )
    cut()
    await passUntil('resumed', () => log.includes('resumed'))
    expect(server.calls('resume')).toHaveLength(3)
  })

  it('stops retrying when the server no longer knows the participant', async () => {
    server.answer('resume', () => ({ error: new ServiceError('NOT_FOUND', 'no such connection') }))
    const refused = expect(signalling.call('unpublish', unpublish)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    cut()
    await passUntil('lost', () => log.includes('lost'))
    expect(log).toEqual(['reconnecting', 'lost'])
    await refused
    expect(server.calls('resume')).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  it('resumes after an outage longer than the eviction time of a running server', async () => {
    server.refuse(true)
    const began = clock.now()
    cut()
    const away = 10 * joinResult().evictAfter
    await passUntil('a long outage', () => clock.now() - began > away, 500)
    server.refuse(false)
    await passUntil('resumed', () => log.includes('resumed'))
    expect(log).toEqual(['reconnecting', 'resumed'])
  })

  it('resumes after a long time in which the running server accepted no participants', async () => {
    const began = clock.now()
    server.answer('resume', () =>
      clock.now() - began < 5 * joinResult().evictAfter
        ? { error: new ServiceError('UNAVAILABLE', 'no bus') }
        : { result: { role: 'PUBLISHER', record: true, snapshot } },
    )
    cut()
    await passUntil('resumed', () => log.includes('resumed'), 500)
    expect(log).toEqual(['reconnecting', 'resumed'])
  })

  it('stops retrying when the server does not return', async () => {
    server.refuse(true)
    const began = clock.now()
    cut()
    await passUntil('lost', () => log.includes('lost'), 20_000)
    expect(clock.now() - began).toBeGreaterThanOrEqual(SIGNALLING_TIMEOUTS.giveUp)
    expect(log).toEqual(['reconnecting', 'lost'])
    expect(clock.pending).toBe(0)
  })

  it.each(['done', 'replaced'] as const)('does not reconnect after the server closed with "%s"', async (name) => {
    server.last.close(CLOSE_CODE[name])
    await until('lost', () => log.includes('lost'))
    clock.pass(20_000)
    expect(log).toEqual(['lost'])
    expect(server.urls).toHaveLength(1)
  })

  it('sends an idempotent request again when its answer was lost', async () => {
    server.answer('unpublish', ({ socket }) => (socket === 1 ? 'silence' : done))
    const call = signalling.call('unpublish', unpublish)
    await until('unpublish', () => server.calls('unpublish').length === 1)
    cut()
    await passUntil('resumed', () => log.includes('resumed'))
    await expect(call).resolves.toEqual({})
    expect(server.calls('unpublish').map(({ socket }) => socket)).toEqual([1, 2])
  })

  it.each([
    ['forceUnpublish', { streamId: 'str_a' }],
    ['forceDisconnect', { connectionId: 'con_a' }],
  ] as const)('%s succeeds when the server no longer finds its target after a lost answer', async (method, params) => {
    const notFound = { error: new ServiceError('NOT_FOUND', 'no such stream or connection') }
    server.answer(method, ({ socket }) => (socket === 1 ? 'silence' : notFound))
    const call = signalling.call(method, params)
    await until('the call', () => server.calls(method).length === 1)
    cut()
    await passUntil('resumed', () => log.includes('resumed'))
    await expect(call).resolves.toEqual({})
    await expect(signalling.call(method, params)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('does not repeat a signal that may have arrived', async () => {
    const call = signalling.call('signal', { data: 'hello' })
    await until('signal', () => server.calls('signal').length === 1)
    cut()
    await expect(call).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/^signal: /) })
    await passUntil('resumed', () => log.includes('resumed'))
    expect(server.calls('signal')).toHaveLength(1)
  })

  it('queues requests without a socket and sends them in order', async () => {
    server.answer('signal', () => done)
    server.answer('unpublish', () => done)
    cut()
    await until('reconnecting', () => log.includes('reconnecting'))
    const calls = [
      signalling.call('signal', { data: '1' }),
      signalling.call('unpublish', unpublish),
      signalling.call('signal', { data: '2' }),
    ]
    await passUntil('resumed', () => log.includes('resumed'))
    await Promise.all(calls)
    const methods = server.received.map(({ method }) => method).filter((method) => method !== 'ping')
    expect(methods).toEqual(['join', 'resume', 'signal', 'unpublish', 'signal'])
  })

  describe('with more calls in one turn than the server permits', () => {
    const COUNT = SIGNALLING_LIMITS.calls.burst + 50
    const ids = Array.from({ length: COUNT }, (_, index) => `str_${index}`)
    const unpublished = (socket: number): unknown[] =>
      server.calls('unpublish').flatMap((call) => (call.socket === socket ? [call.params['streamId']] : []))
    const callAll = () => Promise.all(ids.map((streamId) => signalling.call('unpublish', { streamId })))
    /** The times at which the server received calls, on all sockets. */
    let times: number[]

    beforeEach(() => {
      times = []
      server.answer('unpublish', () => (times.push(clock.now()), done))
    })
    const expectLimited = (): void => {
      for (const [first, from] of times.entries()) {
        const { burst, perSecond } = SIGNALLING_LIMITS.calls
        const last = times.findLastIndex((at) => at <= from + 1_000)
        expect(last - first + 1).toBeLessThan(burst + perSecond)
      }
      expect(times.filter((at) => at === times[0]).length).toBeLessThan(SIGNALLING_LIMITS.calls.burst)
    }

    it('sends them later, in order', async () => {
      const calls = callAll()
      await passUntil('all calls', () => unpublished(1).length === COUNT)
      await calls
      expect(unpublished(1)).toEqual(ids)
      expectLimited()
    })

    it('sends them again in order, and no faster, when the socket is lost', async () => {
      server.answer('unpublish', ({ socket }) => (times.push(clock.now()), socket === 1 ? 'silence' : done))
      const calls = callAll()
      await until('the first calls', () => unpublished(1).length > SIGNALLING_LIMITS.calls.burst / 2)
      cut()
      await passUntil('all calls', () => unpublished(2).length === COUNT)
      await calls
      expect(unpublished(2)).toEqual(ids)
      expectLimited()
    })

    it('rejects those that wait when it ends', async () => {
      const outcomes = Promise.allSettled(ids.map((streamId) => signalling.call('unpublish', { streamId })))
      await until('the first calls', () => unpublished(1).length > SIGNALLING_LIMITS.calls.burst / 2)
      signalling.close()
      const last = (await outcomes).at(-1)
      expect(last).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } })
      expect(clock.pending).toBe(0)
    })
  })

  /** The server closes the socket; returns the delay until the client has resumed for the `count`th time, s. */
  const closeForAbuse = async (count: number): Promise<number> => {
    const closedAt = clock.now()
    server.last.close(CLOSE_CODE.abuse)
    await until('reconnecting', () => log.filter((entry) => entry === 'reconnecting').length === count)
    await passUntil('resumed', () => log.filter((entry) => entry === 'resumed').length === count, 250)
    return Math.floor((clock.now() - closedAt) / 1_000)
  }

  it('resumes after growing delays when the server closes each socket because of too many calls', async () => {
    const delays: number[] = []
    for (let count = 1; count <= 5; count++) delays.push(await closeForAbuse(count))
    expect(delays).toEqual([1, 2, 4, 8, 8])
    cut()
    const cutAt = clock.now()
    await passUntil('resumed', () => log.filter((entry) => entry === 'resumed').length === 6)
    expect(clock.now() - cutAt).toBeLessThan(1_000)
  })

  it('resumes after the first delay again when the socket before was open for a minute', async () => {
    server.answer('unpublish', () => done)
    expect([await closeForAbuse(1), await closeForAbuse(2)]).toEqual([1, 2])
    const resumedAt = clock.now()
    while (clock.now() - resumedAt < 60_000) {
      clock.pass(3_000)
      await signalling.call('unpublish', unpublish)
    }
    expect(await closeForAbuse(3)).toBe(1)
    expect(await closeForAbuse(4)).toBe(2)
  })

  it('moves to another server without an event when the server drains', async () => {
    server.notify('reconnect', { afterMs: 800 })
    server.last.close(CLOSE_CODE.goingAway)
    await until('its socket is closed', () => server.sockets[0]?.readyState === 3)
    clock.pass(790)
    expect(server.urls).toHaveLength(1)
    await passUntil('moved', () => log.includes('moved'))
    expect(log).toEqual(['moved'])
  })

  it('emits reconnecting when the draining server has no replacement', async () => {
    server.notify('reconnect', { afterMs: 0 })
    server.refuse(true)
    await passUntil('reconnecting', () => log.includes('reconnecting'))
    server.refuse(false)
    await passUntil('resumed', () => log.includes('resumed'))
    expect(log).toEqual(['reconnecting', 'resumed'])
  })

  it('emits the notifications of the new socket after the resumed state', async () => {
    server.answer('resume', () => {
      setImmediate(() => server.notify('signal', { type: 'signal', data: '' }))
      return { result: { role: 'PUBLISHER', record: true, snapshot } }
    })
    cut()
    await passUntil('the signal', () => log.includes('signal'))
    expect(log).toEqual(['reconnecting', 'resumed', 'signal'])
  })

  it('sends leave, waits for the answer, closes the socket, and emits nothing afterwards', async () => {
    server.answer('leave', () => done)
    await signalling.leave(1_000)
    await until('the socket is closed', () => server.sockets[0]?.readyState === 3)
    expect(server.calls('leave')).toHaveLength(1)
    await expect(signalling.call('unpublish', unpublish)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    clock.pass(20_000)
    expect(log).toEqual([])
    expect(server.urls).toHaveLength(1)
  })

  it('leaves with an attempt of its own while the client waits for a new socket', async () => {
    server.answer('leave', () => done)
    cut()
    await until('reconnecting', () => log.includes('reconnecting'))
    await signalling.leave(1_000)
    const methods = server.received.map(({ method, socket }) => `${socket} ${method}`)
    expect(methods).toEqual(['1 join', '2 resume', '2 leave'])
    await until('the socket is closed', () => server.last.readyState === 3)
    expect(log).toEqual(['reconnecting'])
    expect(clock.pending).toBe(0)
  })

  it('leaves when the resume is answered that was under way', async () => {
    server.answer('leave', () => done)
    server.answer('resume', () => 'silence')
    cut()
    await passUntil('the resume', () => server.calls('resume').length === 1)
    const left = signalling.leave(1_000)
    clock.pass(1_000)
    await left
    const result = { role: 'PUBLISHER', record: true, snapshot }
    server.send({ jsonrpc: '2.0', id: server.calls('resume')[0]?.id, result })
    await until('leave', () => server.calls('leave').length === 1)
    await until('the socket is closed', () => server.last.readyState === 3)
    expect(server.urls).toHaveLength(2)
    expect(clock.pending).toBe(0)
  })

  it('leaves on the open socket and the next one while the client moves to another server', async () => {
    server.answer('leave', () => done)
    server.notify('reconnect', { afterMs: 800 })
    // The client handles it after `reconnect`.
    server.notify('connectionDestroyed', { connectionId: 'con_a', reason: 'disconnect' })
    await until('the move', () => log.includes('connectionDestroyed'))
    await signalling.leave(1_000)
    expect(server.calls('leave').map(({ socket }) => socket)).toEqual([1, 2])
    expect(log).toEqual(['connectionDestroyed'])
  })

  it('leaves when the application does so in a listener of reconnecting', async () => {
    server.answer('leave', () => done)
    onReconnecting = () => void signalling.leave(1_000)
    cut()
    await until('leave', () => server.calls('leave').length === 1)
  })

  it('leaves without a socket', async () => {
    server.refuse(true)
    cut()
    await until('reconnecting', () => log.includes('reconnecting'))
    await signalling.leave(1_000)
    const tries = server.urls.length
    clock.pass(20_000)
    expect(log).toEqual(['reconnecting'])
    expect(server.urls.length).toBeLessThanOrEqual(tries + 1)
    expect(clock.pending).toBe(0)
  })
})
