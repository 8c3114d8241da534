import { type SignallingClient, startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { enter } from '../signalling/fixtures/two-talking.js'

let stack: Stack
let sockets: SignallingClient[]
let ids: string[]

beforeAll(async () => {
  stack = await startStack({ masters: 2 })
  for (const customSessionId of ['room', 'other', 'empty']) await stack.api.createSession({ customSessionId })
  sockets = [await stack.join('room'), await stack.join('room')]
  ids = (await stack.api.getSession('room')).connections.content.map(({ id }) => id)
})
afterAll(() => stack.stop())

const send = (body: unknown) => stack.rest('POST', '/signal', body)
const signalsOf = ({ notifications }: SignallingClient): unknown[] =>
  notifications.filter(({ method }) => method === 'signal').map(({ params }) => params)

describe('POST signal', () => {
  it.each([
    [undefined, 'signal'],
    [null, 'signal'],
    ['', 'signal'],
    ['chat', 'signal:chat'],
    ['signal:chat', 'signal:chat'],
  ])('of type %j reaches all participants as %s, without a sender', async (type, expected) => {
    const data = `${expected} ${Math.random()}`
    const answer = await send({ session: 'room', type, data })
    expect([answer.status, answer.body]).toEqual([200, undefined])
    for (const socket of sockets) {
      expect(await socket.waitFor('signal', (signal) => signal.data === data)).toEqual({ type: expected, data })
    }
  })

  it('reaches only the participants in `to`, each once', async () => {
    const [first, second] = ids
    expect((await send({ session: 'room', to: [first, first], data: 'one' })).status).toBe(200)
    expect((await send({ session: 'room', to: [first, second], data: 'both' })).status).toBe(200)
    for (const to of [[], null]) expect((await send({ session: 'room', to, data: 'all' })).status).toBe(200)
    await send({ session: 'room', data: 'end' })
    for (const socket of sockets) await socket.waitFor('signal', ({ data }) => data === 'end')
    const texts = sockets.map((socket) => signalsOf(socket).map((signal) => (signal as { data: string }).data))
    const since = texts.map((each) => each.filter((data) => ['one', 'both', 'all'].includes(data)))
    expect(since).toEqual([
      ['one', 'both', 'all', 'all'],
      ['both', 'all', 'all'],
    ])
  })

  it.each<[string, unknown, string]>([
    ['a missing body', undefined, 'session:'],
    ['a body without a session', { data: 'x' }, 'session:'],
    ['a null session', { session: null }, 'session:'],
    ['an empty session', { session: '' }, 'session:'],
    ['a session that is not a string', { session: 5 }, 'session:'],
    ['a `to` that is not an array', { session: 'room', to: 'con_A' }, 'to:'],
    ['a `to` that is an object', { session: 'room', to: {} }, 'to:'],
    ['a `to` of numbers', { session: 'room', to: [1] }, 'to.0:'],
    ['too many in `to`', { session: 'room', to: Array.from({ length: 10_001 }, () => 'con_A') }, 'to:'],
    ['a type that is not a string', { session: 'room', type: 5 }, 'type:'],
    ['a type that is too long', { session: 'room', type: 'x'.repeat(257) }, 'type:'],
    ['data that are not a string', { session: 'room', data: {} }, 'data:'],
    ['data above 64 KiB', { session: 'room', data: 'x'.repeat(65_537) }, 'data:'],
    ['data with NUL', { session: 'room', data: 'a\0' }, 'data:'],
  ])('refuses %s and names the field', async (_, body, text) => {
    expect(await send(body)).toMatchObject({ status: 400, body: { message: expect.stringContaining(text) } })
  })

  it('delivers the largest data byte for byte', async () => {
    const data = '\u0007'.repeat(65_536)
    expect((await send({ session: 'room', to: ids, data })).status).toBe(200)
    for (const socket of sockets) await socket.waitFor('signal', (signal) => signal.data === data)
  })

  it('answers 404 for a missing session, and 406 without participants or with a recipient that is none', async () => {
    const pending = await stack.api.createConnection('room')
    const elsewhere = await stack.join('other')
    const [outsider] = (await stack.api.getSession('other')).connections.content
    expect((await send({ session: 'missing' })).status).toBe(404)
    expect((await send({ session: '../x y' })).status).toBe(404)
    expect((await send({ session: 'empty' })).status).toBe(406)
    expect((await send({ session: 'empty', to: ids })).status).toBe(406)
    for (const id of ['con_none', '', pending.id, outsider?.id]) {
      expect(await send({ session: 'room', to: [ids[0], id], data: 'never' })).toMatchObject({
        status: 406,
        body: { status: 406, path: '/service/api/signal' },
      })
    }
    await send({ session: 'room', data: 'end of 406' })
    for (const socket of sockets) {
      await socket.waitFor('signal', ({ data }) => data === 'end of 406')
      expect(signalsOf(socket)).not.toContainEqual(expect.objectContaining({ data: 'never' }))
    }
    await elsewhere.request('leave', {})
  })
})

describe('signals of participants', () => {
  it('reach all participants or those in `to`, with a prefixed type', async () => {
    const { id } = await stack.api.createSession()
    const [alice, bob, carol] = await Promise.all([enter(stack, id), enter(stack, id), enter(stack, id)])
    await alice.signal({ type: 'chat', data: 'hello' })
    const from = alice.connectionId
    for (const each of [alice, bob, carol]) {
      expect((await each.waitFor('signal')).params).toEqual({ type: 'signal:chat', data: 'hello', from })
    }
    await alice.signal({ to: [bob.connectionId], data: 'only you' })
    expect((await bob.waitFor('signal', ({ type }) => type === 'signal')).params.data).toBe('only you')
    await alice.signal({ type: 'signal:chat', data: 'after' })
    await carol.waitFor('signal', ({ data }) => data === 'after')
    expect(carol.events.filter(({ method }) => method === 'signal')).toHaveLength(2)
    await stack.api.deleteSession(id)
    await Promise.all([alice, bob, carol].map((each) => each.close()))
  })
})
