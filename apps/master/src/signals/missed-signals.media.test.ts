import { SIGNALLING_LIMITS, type SignallingResult } from '@session-service/contract'
import { postponeEviction, type SignallingClient, startStack, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack
beforeAll(async () => {
  stack = await startStack({ masters: 2 })
})
afterAll(() => stack.stop())

interface Member {
  client: SignallingClient
  joined: SignallingResult<'join'>
}

async function member(id: string, master = 0): Promise<Member> {
  const { token } = await stack.api.createConnection(id, { role: 'SUBSCRIBER' })
  const client = await stack.openSocket(stack.atMaster(master, token))
  return { client, joined: await client.join() }
}

/** Bob, at the first master, and Alice, who receives one signal before she loses her socket. */
async function pair(aliceAt = 0) {
  const { id } = await stack.api.createSession()
  const bob = await member(id)
  const alice = await member(id, aliceAt)
  await bob.client.request('signal', { data: 'before' })
  await alice.client.waitFor('signal')
  const { connectionId } = alice.joined
  const send = async (...texts: string[]): Promise<void> => {
    for (const data of texts) await bob.client.request('signal', { data, to: [connectionId] })
  }
  return { id, alice, bob, send }
}

/** Resumes on a new socket; a client that counts reports the signals that it received. */
async function resume({ client, joined }: Member, master: number, isCounting = true): Promise<SignallingClient> {
  const { token } = await stack.api.createConnection(joined.sessionId)
  const socket = await stack.openSocket(stack.atMaster(master, token))
  const { connectionId, resumeKey, pingInterval } = joined
  const { receivedSignals } = client
  await socket.request('resume', { connectionId, resumeKey, ...(isCounting && { receivedSignals }) })
  socket.keepAlive(pingInterval)
  return socket
}

const textsOf = (client: SignallingClient): string[] => client.received('signal').map(({ data }) => data)

/** All signals of the participant up to the one that is sent last. */
async function received(socket: SignallingClient, send: (text: string) => Promise<void>): Promise<string[]> {
  await send('end')
  await socket.waitFor('signal', ({ data }) => data === 'end')
  return textsOf(socket)
}

const isMarkedLost = async ({ joined }: Member): Promise<boolean> => {
  const sql = 'SELECT 1 FROM connection WHERE id = $1 AND evict_at IS NOT NULL'
  return (await stack.postgres.query(sql, [joined.connectionId])).length > 0
}

describe('signals that a participant misses while its socket is away', () => {
  it.each([
    ['the same master', 0],
    ['another master', 1],
  ])('are delivered after it resumes at %s, in order and once', async (_, master) => {
    const { id, alice, bob, send } = await pair()
    alice.client.terminate()
    await send('1', '2')
    await bob.client.request('signal', { data: 'not for Alice', to: [bob.joined.connectionId] })
    await bob.client.request('signal', { data: '3' })
    await stack.rest('POST', '/signal', { session: id, data: '4', type: 'chat' })
    const socket = await resume(alice, master)
    expect(await received(socket, send)).toEqual(['1', '2', '3', '4', 'end'])
    expect(socket.received('signal')[0]).toEqual({ type: 'signal', data: '1', from: bob.joined.connectionId })
    expect(socket.received('signal')[3]).toEqual({ type: 'signal:chat', data: '4' })
    await stack.api.deleteSession(id)
  })

  it('are delivered also to a client that does not report received signals, after the server has noticed its loss', async () => {
    const { id, alice, send } = await pair()
    alice.client.terminate()
    await until('the loss is noticed', () => isMarkedLost(alice))
    await send('1', '2')
    const socket = await resume(alice, 1, false)
    expect(await received(socket, send)).toEqual(['1', '2', 'end'])
    await stack.api.deleteSession(id)
  })

  it('are delivered when the server still takes its old socket for open', async () => {
    const { id, alice, send } = await pair()
    alice.client.pause()
    await send('1', '2')
    const socket = await resume(alice, 1)
    expect(await received(socket, send)).toEqual(['1', '2', 'end'])
    alice.client.terminate()
    await stack.api.deleteSession(id)
  })

  it('are delivered once when they are sent while it resumes', async () => {
    const { id, alice, send } = await pair()
    alice.client.terminate()
    const texts = Array.from({ length: 50 }, (_, index) => String(index))
    const [socket] = await Promise.all([resume(alice, 1), send(...texts)])
    expect(await received(socket, send)).toEqual([...texts, 'end'])
    await stack.api.deleteSession(id)
  })

  it('do not include signals that were sent before it joined', async () => {
    const { id, send } = await pair()
    const carol = await member(id)
    carol.client.terminate()
    const socket = await resume(carol, 1)
    await send('not for Carol')
    await stack.rest('POST', '/signal', { session: id, data: 'end' })
    await socket.waitFor('signal', ({ data }) => data === 'end')
    expect(textsOf(socket)).toEqual(['end'])
    await stack.api.deleteSession(id)
  })

  it('are bounded: the oldest are dropped', async () => {
    const { id, alice, send } = await pair()
    const { count } = SIGNALLING_LIMITS.missedSignals
    await postponeEviction(stack.postgres, alice.joined.connectionId)
    alice.client.terminate()
    await until('the loss is noticed', () => isMarkedLost(alice))
    const texts = Array.from({ length: count + 20 }, (_, index) => String(index))
    for (const data of texts) await stack.rest('POST', '/signal', { session: id, data })
    const socket = await resume(alice, 0)
    expect(await received(socket, send)).toEqual([...texts.slice(-count), 'end'])
    await until('the table is trimmed', async () => {
      const rows = await stack.postgres.query('SELECT 1 FROM recent_signal WHERE session_key LIKE $1', [`${id}_%`])
      return rows.length <= count
    })
    await stack.api.deleteSession(id)
  })

  it('are delivered after the master that held its socket was killed', async () => {
    const { id, alice, send } = await pair(1)
    const [, victim] = stack.masters
    if (!victim) throw new Error('there is no second master')
    victim.kill()
    await victim.exited
    await send('1', '2')
    const socket = await resume(alice, 0)
    expect(await received(socket, send)).toEqual(['1', '2', 'end'])
    await stack.api.deleteSession(id)
    await stack.revive(victim)
  })
})
