import { ServiceError, type SignallingMethod } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { Device, FakeHandler, testFakeParameters, type types } from 'mediasoup-client'
import { ManualClock, until } from '../fixtures/manual-clock.js'
import { joinResult } from '../fixtures/samples.js'
import { stubTrack } from '../fixtures/stub-engine.js'
import { type Call, type EngineOptions, MediaEngine, chooseIceServers } from './engine.js'
import { ICE_TIMEOUTS } from './ice-recovery.js'

describe('chooseIceServers', () => {
  const server = [{ url: 'turn:example.org:3478', username: 'u', credential: 'c' }, { url: 'stun:example.org' }]
  const own = [{ urls: 'stun:own.example.org' }]
  const configured = [{ urls: 'stun:configured.example.org' }]

  it.each([
    ['the client’s own before all', own, configured, own],
    ['those of its configuration before the server’s', undefined, configured, configured],
    ['an empty list of its own means none', [], configured, []],
    [
      'the server’s as the browser wants them',
      undefined,
      undefined,
      [{ urls: 'turn:example.org:3478', username: 'u', credential: 'c' }, { urls: 'stun:example.org' }],
    ],
  ])('%s', (_, first, second, expected) => {
    expect(chooseIceServers(first, second, server)).toEqual(expected)
  })
})

describe('MediaEngine', () => {
  /** An engine of a browser without a network. `answer` returns the server's answer to each call. */
  const open = async (
    answer: (method: SignallingMethod) => unknown,
    own: Partial<EngineOptions> = {},
    videoCodecs = /./,
  ) => {
    const calls: [SignallingMethod, unknown][] = []
    const call = (async (method: SignallingMethod, params: unknown) => {
      calls.push([method, params])
      return answer(method)
    }) as Call
    const device = new Device({ handlerFactory: FakeHandler.createFactory(testFakeParameters) })
    const consumers: types.Consumer[] = []
    const renewed: unknown[] = []
    const transports: types.Transport[] = []
    device.observer.on('newtransport', (transport) => {
      transports.push(transport)
      const [update, restart] = [transport.updateIceServers.bind(transport), transport.restartIce.bind(transport)]
      Object.assign(transport, {
        updateIceServers: (servers: Parameters<typeof update>[0]) => (renewed.push(servers), update(servers)),
        restartIce: (parameters: Parameters<typeof restart>[0]) => (renewed.push('restart'), restart(parameters)),
      })
    })
    device.observer.on('newtransport', ({ observer }) => observer.on('newconsumer', (one) => consumers.push(one)))
    const { codecs = [], ...others } = testFakeParameters.generateRouterRtpCapabilities()
    const offered = codecs.filter(({ kind, mimeType }) => kind === 'audio' || videoCodecs.test(mimeType))
    const routerRtpCapabilities = { codecs: offered, ...others }
    const place = { ...joinResult(), routerRtpCapabilities } as unknown as Parameters<typeof MediaEngine.open>[1]
    const engine = await MediaEngine.open(device, place, {
      clock: new ManualClock(),
      call,
      exception: () => {},
      stateChanged: () => {},
      ...own,
    })
    return { engine, calls, consumers, renewed, transports }
  }
  const track = (id: string, codecMimeType = 'audio/opus') => {
    const { kind, ...rest } = testFakeParameters.generateConsumerRemoteParameters({ codecMimeType, id })
    return { ...rest, kind, paused: false } as unknown as Parameters<MediaEngine['consume']>[0][number]
  }
  const refusals = (count: number) => () => {
    if (count-- > 0) throw new ServiceError('UNAVAILABLE', 'the media node did not answer')
    return {}
  }
  const states = (consumers: readonly types.Consumer[]) => consumers.map(({ closed }) => closed)

  it('connects the receiving transport at the server once', async () => {
    const { engine, calls } = await open(refusals(0))
    expect(states(await engine.consume([track('a'), track('b', 'video/VP8')], 'str_a'))).toEqual([false, false])
    await engine.consume([track('c')], 'str_b')
    expect(calls.map(([method]) => method)).toEqual(['connectTransport'])
    engine.close()
  })

  it('connects the receiving transport before it has a track, once', async () => {
    const { engine, calls, consumers } = await open(refusals(0))
    engine.openRecv()
    engine.openRecv()
    await until('the transport is connected', () => calls.length > 0)
    await engine.consume([track('a')], 'str_a')
    expect(calls.map(([method]) => method)).toEqual(['connectTransport'])
    expect(consumers.map(({ id }) => id)).toEqual(['opener', 'a'])
    engine.close()
    engine.openRecv()
    expect(consumers).toHaveLength(2)
  })

  it('connects the receiving transport with the first track of a stream when the early attempt failed', async () => {
    const { engine, calls } = await open(refusals(1))
    engine.openRecv()
    await until('the attempt', () => calls.length > 0)
    expect(states(await engine.consume([track('a')], 'str_a'))).toEqual([false])
    expect(calls.map(([method]) => method)).toEqual(['connectTransport', 'connectTransport'])
    engine.close()
  })

  it('connects again after a failure, once for all waiting calls', async () => {
    const { engine, calls } = await open(refusals(1))
    const made = await Promise.all([engine.consume([track('a')], 'str_a'), engine.consume([track('b')], 'str_b')])
    expect(states(made.flat())).toEqual([false, false])
    expect(calls).toHaveLength(2)
    expect(calls[1]).toEqual(calls[0])
    engine.close()
  })

  it('succeeds to consume after a failure, and closes the consumers of the failed attempt', async () => {
    const { engine, calls, consumers } = await open(refusals(2))
    await expect(engine.consume([track('a'), track('b', 'video/VP8')], 'str_a')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    })
    expect(states(consumers)).toEqual([true, true])
    expect(states(await engine.consume([track('c')], 'str_a'))).toEqual([false])
    expect(calls).toHaveLength(3)
    engine.close()
  })

  it('rejects to consume when it is closed meanwhile, although the browser does not finish', async () => {
    const { engine, transports } = await open(refusals(0))
    engine.createTransports()
    const began = new Promise<void>((resolve) => {
      const receive = (): Promise<never> => (resolve(), new Promise(() => {}))
      for (const { handler } of transports) Object.assign(handler, { receive })
    })
    const begun = expect(engine.consume([track('a')], 'str_a')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await began
    const queued = expect(engine.consume([track('b')], 'str_b')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    engine.close()
    await Promise.all([begun, queued])
  })

  it('leaves a muted track muted that replaces another one', async () => {
    const { engine } = await open(refusals(0))
    const { producers } = await engine.offer([{ track: stubTrack('audio') }])
    const muted = Object.assign(stubTrack('audio'), { enabled: false })
    await producers[0]?.replaceTrack({ track: muted })
    expect([producers[0]?.track, muted.enabled]).toEqual([muted, false])
    engine.close()
  })

  it('refuses a track without a common codec, and names the codecs of the session', async () => {
    const { engine } = await open(refusals(0), {}, /h264/i)
    const video = { kind: 'video', id: 'v' } as MediaStreamTrack
    await expect(engine.offer([{ track: video }])).rejects.toMatchObject({
      code: 'CODEC_REFUSED',
      message: 'this browser can send none of the video codecs of the session: H264',
    })
    engine.close()
  })

  describe('restarts ICE', () => {
    const { iceParameters } = joinResult().sendTransport
    const iceServers = [{ url: 'turn:turn.example:3478', username: 'later', credential: 'c' }]
    const named = { iceServers: [{ urls: 'turn:turn.example:3478', username: 'later', credential: 'c' }] }
    const own = [{ urls: 'stun:own.example' }]

    it.each<[string, object, Partial<EngineOptions>, unknown[]]>([
      ['with the credentials of now', { iceServers }, {}, [named, 'restart']],
      ['with those it has when the server names none', {}, {}, ['restart']],
      ['with the client’s own', { iceServers }, { iceServers: own }, [{ iceServers: own }, 'restart']],
    ])('%s', async (_, more, options, expected) => {
      const { engine, renewed } = await open(() => ({ iceParameters, ...more }), options)
      await engine.consume([], 'str_a')
      await engine.restartIce()
      expect(renewed).toEqual(expected)
      engine.close()
    })

    it('of a transport that does not connect after its first use, once the server has accepted that', async () => {
      const clock = new ManualClock()
      const failed: string[] = []
      const exception: EngineOptions['exception'] = (name, direction) => failed.push(`${direction} ${name}`)
      const { engine, calls } = await open(() => ({ iceParameters }), { clock, exception })
      const restarts = () => calls.flatMap(([method, params]) => (method === 'restartIce' ? [params] : []))
      const offer = await engine.offer([{ track: stubTrack('audio') }])
      clock.pass(2 * ICE_TIMEOUTS.opening)
      expect(restarts()).toEqual([])
      engine.offerAccepted(offer)
      clock.pass(ICE_TIMEOUTS.opening)
      expect(restarts()).toEqual([{ direction: 'send' }])
      await engine.consume([track('a')], 'str_a')
      clock.pass(ICE_TIMEOUTS.opening)
      expect(restarts()).toContainEqual({ direction: 'recv' })
      expect(failed).toEqual(['send ICE_CONNECTION_FAILED', 'recv ICE_CONNECTION_FAILED'])
      engine.close()
      expect(clock.pending).toBe(0)
    })

    it('once for all calls before the answer', async () => {
      const { engine, calls } = await open(() => ({ iceParameters }))
      engine.createTransports()
      await Promise.all([engine.restartIce(), engine.restartIce(), engine.restartIce()])
      expect(calls.map(([, params]) => params)).toEqual([{ direction: 'recv' }, { direction: 'send' }])
      await engine.restartIce()
      expect(calls).toHaveLength(4)
      engine.close()
    })
  })
})
