import { startStack, type Stack, type SyntheticParticipant, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { twoTalking } from './fixtures/two-talking.js'

let stack: Stack

beforeAll(async () => {
  stack = await startStack({ masters: 2 })
})
afterAll(() => stack.stop())

/** The notifications of a participant about its session. */
const received = ({ events }: SyntheticParticipant): unknown[] =>
  events
    .filter(({ method }) => method !== 'layersChanged')
    .map(({ method, params }) => ({
      method,
      ...('streamId' in params && { streamId: params.streamId }),
      ...('connectionId' in params && { connectionId: params.connectionId }),
      ...('reason' in params && { reason: params.reason }),
    }))

describe('two participants that receive each other', () => {
  it('are in the REST API with their streams and subscriptions, and the session ends with the last participant', async () => {
    const { id, alice, bob, aliceStream, bobStream } = await twoTalking(stack, { customSessionId: 'talk' })
    const session = await stack.api.getSession(id)
    expect(session.mediaNodeId).toMatch(/^media_/)
    expect(session.connections.numberOfElements).toBe(2)
    const mediaOptions = {
      hasAudio: true,
      audioActive: true,
      hasVideo: true,
      videoActive: true,
      typeOfVideo: 'CAMERA',
      filter: {},
    }
    const of = (self: SyntheticParticipant, own: string, other: string): object => ({
      id: self.connectionId,
      status: 'active',
      ip: '127.0.0.1',
      location: 'unknown',
      platform: expect.any(String),
      publishers: [
        { streamId: own, createdAt: expect.any(Number), mediaOptions: expect.objectContaining(mediaOptions) },
      ],
      subscribers: [{ streamId: other, createdAt: expect.any(Number) }],
    })
    expect(session.connections.content).toMatchObject([
      { serverData: 'alice', clientData: 'client of alice', ...of(alice, aliceStream.streamId, bobStream.streamId) },
      { serverData: 'bob', clientData: 'client of bob', ...of(bob, bobStream.streamId, aliceStream.streamId) },
    ])
    expect(aliceStream.streamId).toMatch(new RegExp(`^str_CAM_[A-Za-z0-9]{4}_${alice.connectionId}$`))
    await alice.leave()
    await bob.waitFor('connectionDestroyed')
    expect(received(bob).slice(-2)).toEqual([
      {
        method: 'streamDestroyed',
        streamId: aliceStream.streamId,
        connectionId: alice.connectionId,
        reason: 'disconnect',
      },
      { method: 'connectionDestroyed', connectionId: alice.connectionId, reason: 'disconnect' },
    ])
    expect((await stack.api.getSession(id)).connections.content).toMatchObject([
      { id: bob.connectionId, subscribers: [] },
    ])
    await bob.leave()
    expect((await stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
  })

  it('are notified of DELETE connection: the other participants first, then the removed one', async () => {
    const { id, alice, bob, aliceStream } = await twoTalking(stack)
    await stack.api.deleteConnection(id, alice.connectionId)
    await alice.waitFor('sessionDisconnected')
    expect(received(alice).at(-1)).toEqual({ method: 'sessionDisconnected', reason: 'forceDisconnectByServer' })
    await bob.waitFor('connectionDestroyed')
    expect(received(bob).slice(-2)).toEqual([
      {
        method: 'streamDestroyed',
        streamId: aliceStream.streamId,
        connectionId: alice.connectionId,
        reason: 'forceDisconnectByServer',
      },
      { method: 'connectionDestroyed', connectionId: alice.connectionId, reason: 'forceDisconnectByServer' },
    ])
    expect((await alice.socketClosed).code).toBe(4000)
    await bob.leave()
    await alice.close()
  })

  it('are both notified of DELETE stream', async () => {
    const { id, alice, bob, aliceStream, bobHears } = await twoTalking(stack)
    await stack.api.deleteStream(id, aliceStream.streamId)
    const params = {
      streamId: aliceStream.streamId,
      connectionId: alice.connectionId,
      reason: 'forceUnpublishByServer',
    }
    expect((await alice.waitFor('streamDestroyed')).params).toEqual(params)
    expect((await bob.waitFor('streamDestroyed')).params).toEqual(params)
    expect((await stack.rest('DELETE', `/sessions/${id}/stream/${aliceStream.streamId}`)).status).toBe(404)
    const { content } = (await stack.api.getSession(id)).connections
    expect(content.map(({ publishers, subscribers }) => [publishers?.length, subscribers?.length])).toEqual([
      [0, 1],
      [1, 0],
    ])
    expect(bobHears.stats().video?.keyFrames).toBeGreaterThan(0)
    await stack.api.deleteSession(id)
    await alice.close()
    await bob.close()
  })

  it('are notified of DELETE session one after another', async () => {
    const { id, alice, bob, aliceStream } = await twoTalking(stack)
    await stack.api.deleteSession(id)
    await Promise.all([alice.waitFor('sessionDisconnected'), bob.waitFor('sessionDisconnected')])
    const reason = 'sessionClosedByServer'
    expect(received(alice).slice(-1)).toEqual([{ method: 'sessionDisconnected', reason }])
    expect(received(alice)).not.toContainEqual(expect.objectContaining({ method: 'connectionDestroyed' }))
    expect(received(bob).slice(-3)).toEqual([
      { method: 'streamDestroyed', streamId: aliceStream.streamId, connectionId: alice.connectionId, reason },
      { method: 'connectionDestroyed', connectionId: alice.connectionId, reason },
      { method: 'sessionDisconnected', reason },
    ])
    await alice.close()
    await bob.close()
  })

  it('are notified of a muted and an unmuted track', async () => {
    const { id, alice, bob, aliceStream } = await twoTalking(stack)
    await alice.changeStream(aliceStream.streamId, { videoActive: false, reason: 'publishVideo' })
    expect((await bob.waitFor('streamPropertyChanged')).params).toEqual({
      streamId: aliceStream.streamId,
      connectionId: alice.connectionId,
      changedProperty: 'videoActive',
      newValue: false,
      reason: 'publishVideo',
    })
    const [first] = (await stack.api.getSession(id)).connections.content
    expect(first?.publishers?.[0]?.mediaOptions).toMatchObject({ videoActive: false, audioActive: true })
    await alice.changeStream(aliceStream.streamId, { videoActive: true })
    await bob.waitFor('streamPropertyChanged', ({ newValue }) => newValue === true)
    await stack.api.deleteSession(id)
    await alice.close()
    await bob.close()
  })
})

describe('a socket with invalid input', () => {
  it('is answered with errors or closed, and does not affect other participants', async () => {
    const { id, alice, bob, bobHears } = await twoTalking(stack)
    const { token } = await stack.api.createConnection(id)
    const socket = await stack.openSocket(token ?? '')
    const frames: unknown[] = [
      'junk',
      '[]',
      '{}',
      'null',
      '{"jsonrpc":"2.0","id":1}',
      { jsonrpc: '2.0', id: 'x', method: 'nope' },
      { jsonrpc: '2.0', id: 'x', method: 'nope' },
      { jsonrpc: '2.0', id: 'y', method: 'toString' },
      { jsonrpc: '2.0', id: 'z', method: 'publish', params: null },
      new Uint8Array(1000),
    ]
    for (const frame of frames) socket.sendRaw(frame)
    await until('each frame is answered', () => socket.unmatched.length === frames.length)
    const codes = socket.unmatched.map((answer) => ('error' in answer ? answer.error.code : 0))
    expect(codes.toSorted((a, b) => a - b)).toEqual([
      -32700, -32700, -32601, -32601, -32601, -32600, -32600, -32600, -32600, 403,
    ])
    await socket.join()
    for (const params of [{}, { tracks: [] }, { tracks: [{ kind: 'video', rtpParameters: {} }] }]) {
      await expect(socket.requestRaw('publish', params)).rejects.toMatchObject({ code: 'INVALID' })
    }
    const fingerprint = { algorithm: 'sha-256', value: 'AB:'.repeat(31) + 'AB' }
    for (const dtlsParameters of [
      { fingerprints: [] },
      { fingerprints: [{ ...fingerprint, algorithm: 'sha-7' }] },
      { fingerprints: [fingerprint], role: 'observer' },
    ]) {
      const connecting = socket.requestRaw('connectTransport', { direction: 'recv', dtlsParameters })
      await expect(connecting).rejects.toMatchObject({ code: 'INVALID' })
    }
    await expect(socket.join()).rejects.toMatchObject({ code: 'CONFLICT' })
    socket.sendRaw('x'.repeat(300_000))
    expect((await socket.closed).code).toBe(1009)
    const before = bobHears.stats().video?.packets ?? 0
    await until('bob still receives media', () => (bobHears.stats().video?.packets ?? 0) > before + 20)
    await stack.api.deleteSession(id)
    await alice.close()
    await bob.close()
  })

  it('is refused without sessionId and token', async () => {
    const url = stack.masterUrl.replace('http', 'ws')
    await expect(stack.openSocket(`${url}/service/signalling`)).rejects.toThrow('401')
    await expect(stack.openSocket(`${url}/elsewhere?sessionId=a&token=b`)).rejects.toThrow('404')
  })
})
