import { ConnectionView } from '@session-service/contract'
import { type SignallingClient, startStack, type Stack, SyntheticParticipant } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { enter, twoTalking } from '../signalling/fixtures/two-talking.js'

let stack: Stack

beforeAll(async () => {
  stack = await startStack({ masters: 2 })
})
afterAll(() => stack.stop())

const patch = (sessionId: string, id: string, body: unknown) =>
  stack.rest('PATCH', `/sessions/${sessionId}/connection/${id}`, body)

/** The token's URL at the second master, while REST goes to the first. */
const atSecondMaster = (token: string | null): string => stack.atMaster(1, token)

const changes = (socket: SignallingClient): unknown[] =>
  socket.received('connectionPropertyChanged').map(({ changedProperty, newValue }) => [changedProperty, newValue])

/** Waits until a new signal arrives. Messages of a session arrive in order, so that all older ones have arrived too. */
async function receivedAll(sessionId: string, socket: SignallingClient): Promise<void> {
  const data = `mark ${Math.random()}`
  await stack.rest('POST', '/signal', { session: sessionId, data })
  await socket.waitFor('signal', (signal) => signal.data === data)
}

describe('PATCH connection', () => {
  it('changes a pending connection, and the participant joins with the new properties', async () => {
    const { id: session } = await stack.api.createSession()
    const { id, token } = await stack.api.createConnection(session)
    const answer = await patch(session, id, { role: 'SUBSCRIBER', record: false })
    expect(answer.status).toBe(200)
    expect(ConnectionView.parse(answer.body)).toMatchObject({
      id,
      status: 'pending',
      role: 'SUBSCRIBER',
      record: false,
    })
    expect(await stack.api.getConnection(session, id)).toEqual(answer.body)
    const socket = await stack.openSocket(token ?? '')
    expect(await socket.join()).toMatchObject({ role: 'SUBSCRIBER', record: false })
    await receivedAll(session, socket)
    expect(changes(socket)).toEqual([])
    await socket.close()
    await stack.api.deleteSession(session)
  })

  it('notifies only the participant, once per changed property, and not at all without a change', async () => {
    const { id: session } = await stack.api.createSession()
    const connection = await stack.api.createConnection(session)
    const socket = await stack.openSocket(atSecondMaster(connection.token))
    const { connectionId } = await socket.join()
    const other = await stack.join(session)
    for (const same of [
      undefined,
      {},
      { role: null, record: null },
      { role: 'PUBLISHER', record: true },
      { data: 'x' },
    ]) {
      expect((await patch(session, connectionId, same)).status).toBe(200)
    }
    expect((await patch(session, connectionId, { role: 'MODERATOR', record: false })).body).toMatchObject({
      status: 'active',
      role: 'MODERATOR',
      record: false,
      serverData: '',
    })
    await patch(session, connectionId, { record: true })
    await receivedAll(session, socket)
    expect(changes(socket)).toEqual([
      ['role', 'MODERATOR'],
      ['record', false],
      ['record', true],
    ])
    await receivedAll(session, other)
    expect(changes(other)).toEqual([])
    await stack.api.deleteSession(session)
  })

  it('changes rights at once on all masters, and keeps published streams', async () => {
    const { id: session } = await stack.api.createSession()
    const { token } = await stack.api.createConnection(session)
    const participant = await SyntheticParticipant.join(atSecondMaster(token))
    const { streamId } = await participant.publish({ audio: true })
    await patch(session, participant.connectionId, { role: 'SUBSCRIBER' })
    await participant.waitFor('connectionPropertyChanged')
    await expect(participant.publish({ audio: true })).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    const { publishers } = await stack.api.getConnection(session, participant.connectionId)
    expect(publishers?.map((publisher) => publisher.streamId)).toEqual([streamId])
    await participant.changeStream(streamId, { audioActive: false, reason: 'publishAudio' })
    await participant.call('unpublish', { streamId })
    await patch(session, participant.connectionId, { role: 'PUBLISHER' })
    await participant.waitFor('connectionPropertyChanged', ({ newValue }) => newValue === 'PUBLISHER')
    await participant.publish({ audio: true })
    await participant.leave()
  })

  it('leaves the participant with the role of the row after many concurrent changes on two masters', async () => {
    const { id: session } = await stack.api.createSession()
    const { token, id } = await stack.api.createConnection(session)
    const socket = await stack.openSocket(token ?? '')
    const roles = ['SUBSCRIBER', 'PUBLISHER', 'MODERATOR'] as const
    const changing = Array.from({ length: 30 }, (_, index) =>
      fetch(`${stack.masterUrls[index % 2]}/service/api/sessions/${session}/connection/${id}`, {
        method: 'PATCH',
        headers: {
          authorization: stack.authorization,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ role: roles[index % 3] }),
      }),
    )
    const [{ role: initialRole }, ...answers] = await Promise.all([socket.join(), ...changing])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    await receivedAll(session, socket)
    const { role } = await stack.api.getConnection(session, id)
    expect(changes(socket).at(-1) ?? ['role', initialRole]).toEqual(['role', role])
    await expect(socket.request('forceDisconnect', { connectionId: 'con_none' })).rejects.toMatchObject({
      code: role === 'MODERATOR' ? 'NOT_FOUND' : 'NOT_ALLOWED',
    })
    await stack.api.deleteSession(session)
  })
})

describe('rights', () => {
  it('keep a SUBSCRIBER from publishing and a PUBLISHER from moderating, without effect', async () => {
    const { id } = await stack.api.createSession()
    const [subscriber, publisher, moderator] = await Promise.all([
      enter(stack, id, 'SUBSCRIBER'),
      enter(stack, id),
      enter(stack, id, 'MODERATOR'),
    ])
    await expect(subscriber.publish({ audio: true })).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    const { streamId } = await publisher.publish({ audio: true })
    const victim = { connectionId: moderator.connectionId }
    await expect(publisher.call('forceDisconnect', victim)).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await expect(publisher.call('forceUnpublish', { streamId })).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    expect((await stack.api.getSession(id)).connections.numberOfElements).toBe(3)
    await moderator.call('forceUnpublish', { streamId })
    expect((await publisher.waitFor('streamDestroyed')).params.reason).toBe('forceUnpublishByUser')
    await moderator.call('forceDisconnect', { connectionId: publisher.connectionId })
    expect((await publisher.waitFor('sessionDisconnected')).params.reason).toBe('forceDisconnectByUser')
    await stack.api.deleteSession(id)
    await Promise.all([subscriber, publisher, moderator].map((each) => each.close()))
  })

  it('end at the session: no participant can act on another session', async () => {
    const [here, there] = await Promise.all([twoTalking(stack), twoTalking(stack)])
    const { bob } = here
    const outsider = there.alice
    const { streamId } = there.aliceStream
    await expect(bob.call('forceDisconnect', { connectionId: outsider.connectionId })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    await expect(bob.call('forceUnpublish', { streamId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(bob.subscribe(streamId)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(bob.call('unpublish', { streamId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(bob.call('unpublish', { streamId: here.aliceStream.streamId })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    await expect(bob.call('signal', { to: [outsider.connectionId] })).rejects.toMatchObject({ code: 'INVALID' })
    expect((await stack.api.getSession(there.id)).connections.content[0]?.publishers).toHaveLength(1)
    await Promise.all([stack.api.deleteSession(here.id), stack.api.deleteSession(there.id)])
    await Promise.all([here.alice, here.bob, there.alice, there.bob].map((each) => each.close()))
  })
})

describe('tokens', () => {
  it('admit exactly one of two concurrent joins on two masters', async () => {
    const { id } = await stack.api.createSession()
    const keeper = await enter(stack, id)
    const results: string[] = []
    for (let round = 0; round < 20; round++) {
      const { token } = await stack.api.createConnection(id)
      const sockets = await Promise.all([stack.openSocket(token ?? ''), stack.openSocket(atSecondMaster(token))])
      const joins = await Promise.allSettled(sockets.map((socket) => socket.join()))
      results.push(
        joins
          .map(({ status }) => status)
          .toSorted()
          .join(' '),
      )
      await Promise.all(
        sockets.map((socket, index) =>
          joins[index]?.status === 'fulfilled' ? socket.request('leave', {}) : socket.close(),
        ),
      )
    }
    expect(new Set(results)).toEqual(new Set(['fulfilled rejected']))
    await keeper.leave()
  })

  it('are rejected with one error after use, an eviction, DELETE of connection or session, and when altered', async () => {
    const { id } = await stack.api.createSession()
    const keeper = await enter(stack, id)
    const used = (await stack.api.createConnection(id)).token ?? ''
    await (await SyntheticParticipant.join(used)).leave()
    const deleted = await stack.api.createConnection(id)
    await stack.api.deleteConnection(id, deleted.id)
    const good = (await stack.api.createConnection(id)).token ?? ''
    const altered = good.slice(0, -1) + (good.endsWith('A') ? 'B' : 'A')
    const { id: deletedId } = await stack.api.createSession()
    const ofDeleted = (await stack.api.createConnection(deletedId)).token ?? ''
    await stack.api.deleteSession(deletedId)
    const evicted = (await stack.api.createConnection(id)).token ?? ''
    const disconnected = await SyntheticParticipant.join(evicted)
    await stack.api.deleteConnection(id, disconnected.connectionId)
    await disconnected.waitFor('sessionDisconnected')
    const errors = []
    for (const token of [used, deleted.token ?? '', altered, ofDeleted, evicted]) {
      const socket = await stack.openSocket(token)
      errors.push(await socket.join().catch((error: unknown) => error))
      await socket.close()
    }
    expect(errors).toEqual(
      errors.map(() => expect.objectContaining({ code: 'UNAUTHENTICATED', message: 'the token is not valid' })),
    )
    await keeper.leave()
  })

  it('admit to their own session only, also with another session in the URL', async () => {
    const [own, other] = [await stack.api.createSession(), await stack.api.createSession()]
    const { token } = await stack.api.createConnection(own.id)
    const client = await stack.openSocket((token ?? '').replace(`sessionId=${own.id}`, `sessionId=${other.id}`))
    expect((await client.join()).sessionId).toBe(own.id)
    expect((await stack.api.getSession(other.id)).connections.numberOfElements).toBe(0)
    await client.request('leave', {})
    await stack.api.deleteSession(other.id)
  })
})
