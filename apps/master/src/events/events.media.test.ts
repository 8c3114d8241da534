import { mkdtemp, readFile, rm, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BACKEND_EVENTS, type BackendEventName } from '@session-service/contract'
import { EventSink, startStack, type Stack, SyntheticParticipant, until, webhookEnv } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack
let sink: EventSink
let folder: string

beforeAll(async () => {
  sink = await EventSink.open()
  folder = await mkdtemp(join(tmpdir(), 'cdr-'))
  stack = await startStack({
    nodes: 1,
    masterEnv: { ...webhookEnv(sink), SERVICE_CDR: 'true', SERVICE_CDR_PATH: folder },
  })
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
  await rm(folder, { recursive: true })
})

const enter = async (sessionId: string, data: string): Promise<SyntheticParticipant> => {
  const { token } = await stack.api.createConnection(sessionId, { role: 'MODERATOR', data })
  return SyntheticParticipant.join(token ?? '', { clientData: `client ${data}`, platform: 'test' })
}

const callRecords = async (sessionId: string): Promise<Record<string, Record<string, unknown>>[]> => {
  const names = (await readdir(folder)).toSorted()
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  const lines = texts.flatMap((text) => text.trim().split('\n')).filter((line) => line !== '')
  return lines
    .map((line) => JSON.parse(line) as Record<string, Record<string, unknown>>)
    .filter((record) => Object.values(record)[0]?.sessionId === sessionId)
}

describe('the events of a session', () => {
  it('report each change in order, with all their members', async () => {
    const { id, createdAt } = await stack.api.createSession()
    const alice = await enter(id, 'alice')
    const bob = await enter(id, 'bob')
    const { streamId } = await alice.publish({ typeOfVideo: 'SCREEN', fps: 15, width: 320, height: 180 })
    await bob.subscribe(streamId)
    await alice.signal({ type: 'chat', data: 'hello' })
    await alice.unpublish(streamId)
    const { streamId: second } = await alice.publish({ video: false })
    await bob.subscribe(second)
    await bob.leave()
    await alice.leave()
    await sink.ended(id)

    const common = { sessionId: id, uniqueSessionId: `${id}_${createdAt}`, timestamp: expect.any(Number) }
    const ended = { startTime: expect.any(Number), duration: expect.any(Number) }
    const whoIs = ({ connectionId }: SyntheticParticipant, name: string) => ({
      ...common,
      participantId: connectionId,
      connectionId,
      location: expect.any(String),
      ip: '127.0.0.1',
      platform: 'test',
      clientData: `client ${name}`,
      serverData: name,
    })
    const peer = ({ connectionId }: SyntheticParticipant) => ({ ...common, participantId: connectionId, connectionId })
    const screen = {
      streamId,
      videoSource: 'SCREEN',
      videoFramerate: 15,
      videoDimensions: '{"width":320,"height":180}',
      audioEnabled: true,
      videoEnabled: true,
    }
    const microphone = { streamId: second, audioEnabled: true, videoEnabled: false }
    const out = { ...peer(alice), connection: 'OUTBOUND' }
    const into = { ...peer(bob), connection: 'INBOUND', receivingFrom: alice.connectionId }
    const signal = { type: 'chat', data: 'hello', from: alice.connectionId }
    const to = [alice.connectionId, bob.connectionId]
    const expected: [BackendEventName, object][] = [
      ['sessionCreated', { ...common, timestamp: createdAt }],
      ['participantJoined', whoIs(alice, 'alice')],
      ['participantJoined', whoIs(bob, 'bob')],
      ['webrtcConnectionCreated', { ...out, ...screen }],
      ['webrtcConnectionCreated', { ...into, ...screen }],
      ['signalSent', { ...common, ...signal, to }],
      ['webrtcConnectionDestroyed', { ...into, ...screen, ...ended, reason: 'unpublish' }],
      ['webrtcConnectionDestroyed', { ...out, ...screen, ...ended, reason: 'unpublish' }],
      ['webrtcConnectionCreated', { ...out, ...microphone }],
      ['webrtcConnectionCreated', { ...into, ...microphone }],
      ['webrtcConnectionDestroyed', { ...into, ...microphone, ...ended, reason: 'disconnect' }],
      ['participantLeft', { ...whoIs(bob, 'bob'), ...ended, reason: 'disconnect' }],
      ['webrtcConnectionDestroyed', { ...out, ...microphone, ...ended, reason: 'disconnect' }],
      ['participantLeft', { ...whoIs(alice, 'alice'), ...ended, reason: 'disconnect' }],
      [
        'sessionDestroyed',
        { ...common, startTime: createdAt, duration: expect.any(Number), reason: 'lastParticipantLeft' },
      ],
    ]
    expect(sink.ofSession(id).map(({ event }) => event)).toEqual(
      expected.map(([event, members]) => ({ event, ...members })),
    )
    for (const { event } of sink.ofSession(id)) {
      const { event: name, ...members } = event
      expect(BACKEND_EVENTS[name as BackendEventName].safeParse(members).error).toBeUndefined()
    }
    await until('the call records are written', async () => (await callRecords(id)).length === expected.length)
    expect(await callRecords(id)).toEqual(expected.map(([event, members]) => ({ [event]: members })))
  })

  it('report the deletion of a session: each participant after its media, and the session last', async () => {
    const { id } = await stack.api.createSession()
    const alice = await enter(id, 'alice')
    const bob = await enter(id, 'bob')
    const { streamId } = await alice.publish({ video: false })
    await bob.subscribe(streamId)
    await stack.api.deleteSession(id)
    await sink.ended(id)
    const ends = sink.ofSession(id).slice(-5)
    expect(ends.map(({ event: { event, connectionId, connection } }) => [event, connectionId, connection])).toEqual([
      ['webrtcConnectionDestroyed', bob.connectionId, 'INBOUND'],
      ['webrtcConnectionDestroyed', alice.connectionId, 'OUTBOUND'],
      ['participantLeft', alice.connectionId, undefined],
      ['participantLeft', bob.connectionId, undefined],
      ['sessionDestroyed', undefined, undefined],
    ])
    for (const { event } of ends) expect(event.reason).toBe('sessionClosedByServer')
    await Promise.all([alice.close(), bob.close()])
  })

  it('contain the reasons of an unsubscription, a forced unpublish and a forced disconnection', async () => {
    const { id } = await stack.api.createSession()
    const alice = await enter(id, 'alice')
    const bob = await enter(id, 'bob')
    const { streamId } = await alice.publish({ video: false })
    await bob.subscribe(streamId)
    await bob.unsubscribe(streamId)
    await stack.api.deleteStream(id, streamId)
    await alice.call('forceDisconnect', { connectionId: bob.connectionId })
    await stack.api.deleteConnection(id, alice.connectionId)
    await sink.ended(id)
    const ends = sink.ofSession(id).filter(({ event }) => 'reason' in event)
    expect(ends.map(({ event }) => [event.event, event.reason])).toEqual([
      ['webrtcConnectionDestroyed', 'unsubscribe'],
      ['webrtcConnectionDestroyed', 'forceUnpublishByServer'],
      ['participantLeft', 'forceDisconnectByUser'],
      ['participantLeft', 'forceDisconnectByServer'],
      ['sessionDestroyed', 'lastParticipantLeft'],
    ])
    await Promise.all([alice.close(), bob.close()])
  })

  it('arrive in the order of each of ten sessions with a hundred signals, although many are rejected at first', async () => {
    sink.behaviour = (_, before) => (before === 0 && Math.random() < 0.1 ? { status: 503 } : undefined)
    const ids = await Promise.all(Array.from({ length: 10 }, async () => (await stack.api.createSession()).id))
    const numbers = Array.from({ length: 100 }, (_, index) => String(index))
    await Promise.all(
      ids.map(async (id) => {
        const socket = await stack.join(id, { role: 'PUBLISHER' })
        for (const data of numbers) await socket.request('signal', { data })
        await socket.request('leave', {})
      }),
    )
    await Promise.all(ids.map((id) => sink.ended(id)))
    sink.behaviour = () => undefined
    for (const id of ids) {
      const signals = sink.ofSession(id).filter(({ event }) => event.event === 'signalSent')
      expect(signals.map(({ event }) => event.data)).toEqual(numbers)
    }
  })

  it('can be read over REST from the call records, and no other file can', async () => {
    const listed = await stack.rest('GET', '/service/cdr')
    expect(listed.body).toEqual([expect.stringMatching(/^CDR\.\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.log$/)])
    const [name] = listed.body as string[]
    const file = await stack.rest('GET', `/service/cdr/${name}`)
    expect(file.status).toBe(200)
    expect(file.body).toContain('{"sessionCreated":{')
    expect((await stack.rest('GET', '/service/cdr/..%2f..%2fetc%2fpasswd')).status).toBe(404)
    expect((await stack.rest('GET', '/service/cdr/CDR.2000-01-01_00-00-00.log')).status).toBe(404)
    expect((await fetch(`${stack.masterUrl}/service/cdr/${name}`)).status).toBe(401)
  })
})
