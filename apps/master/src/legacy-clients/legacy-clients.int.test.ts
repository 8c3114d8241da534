import { calmMs, type SignallingClient, startStack, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { V2Socket } from './fixtures/v2-socket.js'

const PREFIX = 'legacy'
let stack: Stack
/** Sockets without a participant. */
let idle: V2Socket
let idleNative: SignallingClient

beforeAll(async () => {
  stack = await startStack({ masters: 2, masterEnv: { SERVICE_COMPAT_PREFIX: PREFIX } })
  idle = await open('any')
  idleNative = await stack.openSocket((await stack.api.createConnection(await newSession())).token ?? '')
})
afterAll(() => stack.stop())

const open = (sessionId: string): Promise<V2Socket> =>
  V2Socket.open(stack.masterUrl, `/${PREFIX}?sessionId=${sessionId}`)

interface Options {
  metadata?: string
  role?: 'SUBSCRIBER' | 'PUBLISHER' | 'MODERATOR'
  data?: string
}

async function join(sessionId: string, { metadata = '', role = 'MODERATOR', data = '' }: Options = {}) {
  const { id, token } = await stack.api.createConnection(sessionId, { role, data })
  const client = await open(sessionId)
  const result = await client.join(token ?? '', { metadata })
  return { client, id, result, token: token ?? '' }
}

const newSession = async (): Promise<string> => (await stack.api.createSession()).id

describe('a client of version 2', () => {
  it('gets pongs before and after it joins, and answers to ids of text', async () => {
    const { client } = await join(await newSession())
    const other = await open('any')
    expect(await other.call('ping', { interval: 5000 })).toEqual({ value: 'pong' })
    expect(await client.call('ping')).toEqual({ value: 'pong' })
    expect(await client.call('ping', {}, 'seven')).toEqual({ value: 'pong' })
    await Promise.all([client.close(), other.close()])
  })

  it('joins with its token and gets what its library needs', async () => {
    const sessionId = await newSession()
    const { client, id, result } = await join(sessionId, { metadata: '{"clientData":"alice"}', data: 'server' })
    expect(result).toMatchObject({
      id,
      session: sessionId,
      metadata: '{"clientData":"alice"}%/%server',
      value: [],
      version: '2.32.2',
      mediaServer: 'mediasoup',
      videoSimulcast: true,
      record: true,
      role: 'MODERATOR',
      customIceServers: [{ url: expect.stringMatching(/^stun:/) }],
      sessionId: expect.stringMatching(new RegExp(String.raw`^${id}\.\w+\.[\w-]+$`)),
    })
    expect(await stack.api.getConnection(sessionId, id)).toMatchObject({
      status: 'active',
      platform: 'Chrome 156.0.0.0 on Linux 64-bit',
      clientData: '{"clientData":"alice"}',
    })
    await client.close()
  })

  it('sees others join and leave, native ones as well, and both see each other in their first answer', async () => {
    const sessionId = await newSession()
    const { client, id } = await join(sessionId, { metadata: 'first' })
    const native = await stack.join(sessionId)
    const joined = await client.notified('participantJoined')
    const second = await join(sessionId, { metadata: 'second' })
    expect(second.result.value).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id, metadata: 'first' }),
        expect.objectContaining({ id: joined.id }),
      ]),
    )
    expect(await client.notified('participantJoined', 1)).toMatchObject({ id: second.id, metadata: 'second' })
    await native.request('leave', {})
    expect(await client.notified('participantLeft')).toEqual({ connectionId: joined.id, reason: 'disconnect' })
    expect(await second.client.call('leaveRoom', {})).toEqual({})
    expect(await client.notified('participantLeft', 1)).toEqual({ connectionId: second.id, reason: 'disconnect' })
    await Promise.all([client.close(), second.client.close()])
  })

  it('exchanges signals with native clients, its own included', async () => {
    const sessionId = await newSession()
    const { client, id } = await join(sessionId)
    const native = await stack.join(sessionId)
    const message = (content: object) => ({ message: JSON.stringify(content) })
    await client.call('sendMessage', message({ to: [], data: 'hi', type: 'signal:chat' }))
    expect(await client.notified('sendMessage')).toEqual({ type: 'signal:chat', data: 'hi', from: id })
    await client.call('sendMessage', message({ to: [], data: 'untyped', type: 'signal:signal' }))
    expect(await client.notified('sendMessage', 1)).toEqual({ type: 'signal', data: 'untyped', from: id })
    await native.request('signal', { type: 'back', data: 'x' })
    expect(await client.notified('sendMessage', 2)).toMatchObject({ type: 'signal:back', data: 'x' })
    await expect(client.call('sendMessage', message({ to: ['con_none'], data: '' }))).rejects.toMatchObject({
      code: 601,
    })
    await native.close()
    await client.close()
  })

  it('may be a mobile client, which sends all parameters as text', async () => {
    const sessionId = await newSession()
    const { token } = await stack.api.createConnection(sessionId)
    const client = await V2Socket.open(stack.masterUrl, `/${PREFIX}`)
    expect(await client.call('ping', { interval: '5000' })).toEqual({ value: 'pong' })
    const result = await client.join(token ?? '', { recorder: 'false', stt: 'false' })
    expect(result).toMatchObject({ role: 'PUBLISHER' })
    const candidate = { endpointName: 'x', candidate: '', sdpMid: '0', sdpMLineIndex: '0' }
    expect(await client.call('onIceCandidate', candidate)).toEqual({})
    await client.close()
  })

  it('gets the codes of version 2 for errors', async () => {
    const sessionId = await newSession()
    const { client, token } = await join(sessionId, { role: 'SUBSCRIBER' })
    const other = await open(sessionId)
    await expect(other.call('leaveRoom', {})).rejects.toMatchObject({ code: 803 })
    await expect(other.join(token)).rejects.toMatchObject({ code: 401 })
    await expect(other.call('connect', { sessionId: 'con_x.y', reconnect: true })).rejects.toMatchObject({
      code: 40_007,
    })
    await expect(client.call('forceDisconnect', { connectionId: 'con_x' })).rejects.toMatchObject({ code: 401 })
    await expect(client.call('forceUnpublish', { streamId: 'str_x' })).rejects.toMatchObject({ code: 401 })
    // Its right is checked before the offer.
    const broken = { sdpOffer: 'v=0', hasAudio: true, hasVideo: true }
    await expect(client.call('publishVideo', broken)).rejects.toMatchObject({ code: 401 })
    await expect(client.call('unsubscribeFromVideo', { sender: 'con_x' })).rejects.toMatchObject({ code: 102 })
    await expect(client.call('unpublishVideo', {})).rejects.toMatchObject({ code: 105 })
    await expect(client.call('sendMessage', {})).rejects.toMatchObject({ code: 601 })
    await expect(client.call('noSuchMethod', {})).rejects.toMatchObject({ code: -32_601 })
    expect(other.isOpen).toBe(true)
    await Promise.all([client.close(), other.close()])
  })

  it('learns of its eviction and its changed role, and closes the socket itself', async () => {
    const sessionId = await newSession()
    const { client, id, result } = await join(sessionId)
    const other = await join(sessionId)
    await stack.api.updateConnection(sessionId, id, { role: 'SUBSCRIBER' })
    expect(await client.notified('connectionPropertyChanged')).toEqual({ property: 'role', newValue: 'SUBSCRIBER' })
    await other.client.call('forceDisconnect', { connectionId: id })
    const evicted = { connectionId: id, reason: 'forceDisconnectByUser' }
    expect(await client.notified('participantEvicted')).toEqual(evicted)
    expect(await other.client.notified('participantLeft')).toEqual(evicted)
    expect(client.isOpen).toBe(true)
    const again = await open(sessionId)
    const reconnect = { sessionId: result.sessionId, reconnect: true }
    await expect(again.call('connect', reconnect)).rejects.toMatchObject({ code: 40_007 })
    await Promise.all([client.close(), other.client.close(), again.close()])
  })

  it('has no more rights once it was removed, with its socket still open or not notified yet', async () => {
    const sessionId = await newSession()
    const [evicted, removed, staying] = [await join(sessionId), await join(sessionId), await join(sessionId)]
    await stack.api.deleteConnection(sessionId, evicted.id)
    await evicted.client.notified('participantEvicted')
    expect(evicted.client.isOpen).toBe(true)
    const message = (data: string) => ({ message: JSON.stringify({ to: [], data, type: 'signal:x' }) })
    const ignored = evicted.client.call('sendMessage', message('evicted')).catch((error: unknown) => error)
    await evicted.client.close()
    expect(await ignored).toMatchObject({ message: 'the socket was closed' })
    await stack.postgres.query('DELETE FROM connection WHERE id = $1', [removed.id])
    await expect(removed.client.call('forceDisconnect', { connectionId: staying.id })).rejects.toMatchObject({
      code: 401,
    })
    await staying.client.call('sendMessage', message('staying'))
    expect(await staying.client.notified('sendMessage')).toMatchObject({ data: 'staying', from: staying.id })
    expect(staying.client.isOpen).toBe(true)
    await Promise.all([removed.client.close(), staying.client.close()])
  })

  it('reconnects, and learns only what it has missed', async () => {
    const sessionId = await newSession()
    const { client, id, result } = await join(sessionId)
    const staying = await join(sessionId)
    const leaving = await join(sessionId)
    await client.notified('participantJoined', 1)
    client.cut()
    await until('the participant has no socket', async () => {
      const sql = 'SELECT 1 FROM connection WHERE id = $1 AND evict_at IS NOT NULL'
      return (await stack.postgres.query(sql, [id])).length === 1
    })
    await leaving.client.call('leaveRoom', {})
    const late = await join(sessionId)
    const again = await open(sessionId)
    expect(await again.call('connect', { sessionId: result.sessionId, reconnect: true })).toEqual({
      sessionId: result.sessionId,
      value: 'reconnection successful',
    })
    expect(await again.notified('participantJoined')).toMatchObject({ id: late.id })
    expect(again.all('participantLeft')).toEqual([{ connectionId: leaving.id, reason: 'networkDisconnect' }])
    expect(again.all('participantJoined')).toHaveLength(1)
    await staying.client.call('leaveRoom', {})
    expect(await again.notified('participantLeft', 1)).toMatchObject({ connectionId: staying.id })
    await Promise.all([again, staying.client, leaving.client, late.client].map((each) => each.close()))
  })

  it('reconnects at another master, which repeats nothing', async () => {
    const sessionId = await newSession()
    const { client, id, result } = await join(sessionId)
    const staying = await join(sessionId)
    await client.notified('participantJoined')
    client.cut()
    const again = await V2Socket.open(stack.masterUrls[1] ?? '', `/${PREFIX}?sessionId=${sessionId}&reconnect=true`)
    await again.call('connect', { sessionId: result.sessionId, reconnect: true })
    await again.call('sendMessage', { message: JSON.stringify({ to: [], data: 'back', type: 'signal:x' }) })
    expect(await staying.client.notified('sendMessage')).toMatchObject({ data: 'back', from: id })
    expect(await again.notified('sendMessage')).toMatchObject({ data: 'back' })
    expect(again.notifications.map(({ method }) => method)).toEqual(['sendMessage'])
    await staying.client.call('leaveRoom', {})
    expect(await again.notified('participantLeft')).toEqual({ connectionId: staying.id, reason: 'disconnect' })
    await Promise.all([again.close(), staying.client.close()])
  })

  it('can be one of thirty that join at once', async () => {
    const sessionId = await newSession()
    const startedAt = calmMs()
    const joined = await Promise.all(Array.from({ length: 30 }, () => join(sessionId)))
    expect(calmMs() - startedAt).toBeLessThan(8_000)
    // The library sends as many while it subscribes to 29 streams.
    await Promise.all(
      joined.flatMap(({ client }) =>
        Array.from({ length: 29 * 20 }, () => client.call('onIceCandidate', { endpointName: 'x', candidate: '' })),
      ),
    )
    expect(joined.every(({ client }) => client.isOpen)).toBe(true)
    await Promise.all(joined.map(({ client }) => client.close()))
  })

  it('may stay on an open socket without a participant for longer than native clients', async () => {
    await idleNative.closed
    expect(idle.isOpen).toBe(true)
    await idle.close()
  })
})
