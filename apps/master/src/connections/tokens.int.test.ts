import { TokenView } from '@session-service/contract'
import { startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack

beforeAll(async () => {
  stack = await startStack({ nodes: 0 })
  await stack.api.createSession({ customSessionId: 'room' })
})
afterAll(() => stack.stop())

describe('POST tokens', () => {
  it.each([
    ['only the session', { session: 'room' }],
    ['nulls', { session: 'room', role: null, data: null, mediaserverOptions: null }],
    ['an unknown member', { session: 'room', colour: 'blue' }],
  ])('uses the defaults for %s, and returns the token of a new connection', async (_, body) => {
    const answer = await stack.rest('POST', '/tokens', body)
    expect(answer.status).toBe(200)
    const token = TokenView.parse(answer.body)
    expect(answer.body).toEqual(token)
    const connection = await stack.api.getConnection('room', token.connectionId)
    expect(connection).toMatchObject({ token: token.token, status: 'pending', role: 'PUBLISHER', serverData: '' })
    expect(token).toEqual({
      id: connection.token,
      token: connection.token,
      connectionId: connection.id,
      createdAt: connection.createdAt,
      session: 'room',
      role: 'PUBLISHER',
      data: '',
      record: true,
    })
  })

  it('stores all properties unchanged', async () => {
    const properties = { role: 'MODERATOR', data: 'Ünï', mediaserverOptions: { videoMaxSendBandwidth: 100 } }
    const token = TokenView.parse((await stack.rest('POST', '/tokens', { session: 'room', ...properties })).body)
    expect(token).toMatchObject(properties)
    const { data: serverData, ...same } = properties
    expect(await stack.api.getConnection('room', token.connectionId)).toMatchObject({ serverData, ...same })
  })

  it.each<[unknown, number, string]>([
    [undefined, 400, 'session:'],
    [{ session: null }, 400, 'session:'],
    [{ session: 5 }, 400, 'session:'],
    [{ session: 'room', role: 'ADMIN' }, 400, 'role:'],
    [{ session: 'room', data: 5 }, 400, 'data:'],
    [{ session: 'room', mediaserverOptions: 'x' }, 400, 'mediaserverOptions:'],
    [
      { session: 'room', mediaserverOptions: { videoMaxSendBandwidth: '5' } },
      400,
      'mediaserverOptions.videoMaxSendBandwidth:',
    ],
    [{ session: 'missing' }, 404, 'missing'],
  ])('answers %j with %d', async (body, status, text) => {
    expect(await stack.rest('POST', '/tokens', body)).toMatchObject({
      status,
      body: { message: expect.stringContaining(text) },
    })
  })
})

describe('PATCH connection', () => {
  it.each<[string, unknown, number, string]>([
    ['room', { role: 'ADMIN' }, 400, 'role:'],
    ['room', { role: 5 }, 400, 'role:'],
    ['room', { record: 'yes' }, 400, 'record:'],
    ['room', { record: 0 }, 400, 'record:'],
    ['room', [], 400, ''],
    ['room', '"text"', 400, ''],
    ['missing', {}, 404, 'no session'],
    ['missing', { role: 5 }, 404, 'no session'],
    ['room', {}, 404, 'no connection'],
  ])('of a missing connection in session %s with %j answers %d', async (session, body, status, text) => {
    expect(await stack.rest('PATCH', `/sessions/${session}/connection/con_none`, body)).toMatchObject({
      status,
      body: { message: expect.stringContaining(text) },
    })
  })
})
