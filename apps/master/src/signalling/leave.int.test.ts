import { CLOSE_CODE, SessionMessage, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { SignallingClient, SignallingError, startStack, type Stack, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Client } from 'pg'

/** The interval at which the server checks its sockets. */
const BETWEEN_MS = 1_000
/** The time that a client has to resume after its browser closed the socket. */
const PAGE_GONE_MS = 2_000

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack.stop())

/** Locks the row of the connection until the returned function is called. */
async function lock(connectionId: string): Promise<() => Promise<void>> {
  const holder = new Client({ connectionString: stack.postgres.url })
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT 1 FROM connection WHERE id = $1 FOR UPDATE', [connectionId])
  return () => holder.end()
}

async function join(): Promise<{ sessionId: string; connectionId: string; client: SignallingClient }> {
  const { id: sessionId } = await stack.api.createSession()
  const client = await stack.join(sessionId)
  const { connections } = await stack.api.getSession(sessionId)
  return { sessionId, connectionId: connections.content[0]?.id ?? '', client }
}

const idle = async (sessionId: string): Promise<SignallingClient> =>
  stack.openSocket((await stack.api.createConnection(sessionId)).token ?? '')

describe('a socket', () => {
  it('that does not join in time is closed, and one with a slow leave is not', async () => {
    const { sessionId, connectionId, client } = await join()
    const first = await idle(sessionId)
    const openedAt = performance.now()
    await until('the server has checked its sockets', () => performance.now() - openedAt > BETWEEN_MS)
    const second = await idle(sessionId)
    expect(await first.closed).toEqual({ code: CLOSE_CODE.abuse, reason: 'no join in time' })
    const release = await lock(connectionId)
    const left = client.request('leave', {}).catch((error: unknown) => error)
    await second.closed
    await release()
    // On a slow machine the lock timeout of the database has passed.
    if ((await left) instanceof SignallingError) await client.request('leave', {})
    else expect(await left).toEqual({})
    expect(await client.closed).toMatchObject({ code: CLOSE_CODE.done })
  })

  it('can repeat a leave that the database refused', async () => {
    const { sessionId, connectionId, client } = await join()
    const release = await lock(connectionId)
    await expect(client.request('leave', {})).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await release()
    await client.request('leave', {})
    await until('the session ended with it', async () => {
      const { status } = await stack.rest('GET', `/service/api/sessions/${sessionId}`)
      return status === 404
    })
  })
})

describe('a socket that a browser closes because its page is gone', () => {
  const open = async (): Promise<{ client: SignallingClient; connectionId: string; resumeKey: string }> => {
    const client = await idle(sessionId)
    return { client, ...(await client.join()) }
  }
  let sessionId: string
  beforeEach(async () => {
    sessionId = (await stack.api.createSession()).id
  })
  afterEach(() => stack.rest('DELETE', `/sessions/${sessionId}`))

  it('ends its participation as a leave does', async () => {
    const [observer, leaver] = [await open(), await open()]
    await leaver.client.close(CLOSE_CODE.goingAway)
    const { connectionId } = leaver
    expect(await observer.client.waitFor('connectionDestroyed')).toEqual({ connectionId, reason: 'disconnect' })
  })

  it('can be resumed at once, because a proxy may have closed it', async () => {
    const [observer, absent] = [await open(), await open()]
    const again = await idle(sessionId)
    const closedAt = performance.now()
    await absent.client.close(CLOSE_CODE.goingAway)
    const { connectionId, resumeKey } = absent
    await again.request('resume', { connectionId, resumeKey })
    again.keepAlive(BETWEEN_MS)
    await until('the time of a departure has passed', () => performance.now() - closedAt > 1.5 * PAGE_GONE_MS)
    const { connections } = await stack.api.getSession(sessionId)
    expect(connections.content.map(({ id }) => id)).toContain(connectionId)
    expect(observer.client.received('connectionDestroyed')).toEqual([])
  })
})

/** The deadlines for the eviction of all participants, by connection id. */
const deadlines = async (): Promise<Record<string, unknown>> => {
  const rows = await stack.postgres.query("SELECT id, evict_at FROM connection WHERE status = 'active'")
  return Object.fromEntries(rows.map(({ id, evict_at: at }) => [String(id), at]))
}

describe('a graceful stop of the only master', () => {
  it('starts no deadline of its participants, who resume at the next one however late it starts', async () => {
    const { id } = await stack.api.createSession()
    const open = async (): Promise<SignallingClient> =>
      stack.openSocket((await stack.api.createConnection(id)).token ?? '')
    const [silent, present] = [await open(), await open()]
    const { connectionId: silentId } = await silent.join()
    const { connectionId, resumeKey } = await present.join()
    silent.terminate()
    await until('one participant has a deadline', async () => (await deadlines())[silentId] !== null)
    const [master] = stack.masters
    if (!master) throw new Error('the stack has no master')
    await master.stop()
    expect(await deadlines()).toEqual({ [silentId]: null, [connectionId]: null })
    await stack.revive(master)
    await until('the leader has started the deadlines', async () => (await deadlines())[connectionId] !== null)
    const again = await open()
    expect(await again.request('resume', { connectionId, resumeKey })).toMatchObject({ role: 'PUBLISHER' })
    await again.close()
  })
})

it('a participant whose removal by another master crosses its join leaves the other clients', async () => {
  const { sessionId, client: alice } = await join()
  const [session] = await stack.postgres.query('SELECT unique_id FROM session WHERE id = $1', [sessionId])
  const { id: connectionId, token } = await stack.api.createConnection(sessionId)
  const bob = await stack.openSocket(token ?? '')
  const bus = await Bus.connect({ servers: stack.nats.url, name: 'other-master' })
  const send = (message: SessionMessage): Promise<void> => {
    bus.publish(SUBJECT.session(String(session?.unique_id)), SessionMessage, message)
    return bus.flush()
  }
  const reason = 'forceDisconnectByServer' as const
  const end = { method: 'connectionDestroyed' as const, params: { connectionId, reason } }
  await send({ kind: 'notify', notification: end, except: [connectionId] })
  await bob.join()
  await alice.waitFor('connectionCreated')
  await stack.postgres.query('DELETE FROM connection WHERE id = $1', [connectionId])
  await send({ kind: 'evict', connectionId, reason })
  await bob.closed
  await until('alice is notified after the arrival', () => alice.received('connectionDestroyed').length === 2)
  expect(alice.received('connectionDestroyed')).toEqual([end.params, end.params])
  await bus.close()
})
