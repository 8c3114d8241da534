import { FaultRig, SignallingClient, TcpProxy, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'

jest.setTimeout(120_000)

let rig: FaultRig
let proxy: TcpProxy
beforeAll(async () => {
  rig = await FaultRig.open({ nodes: 1 })
  const { hostname, port } = new URL(rig.stack.masterUrl)
  proxy = await TcpProxy.open({ host: hostname, port: Number(port) })
})
afterAll(async () => {
  await proxy.close()
  await rig.close()
})
afterEach(() => {
  proxy.mode = 'pass'
})

/** Two participants, of whom alice is connected through the proxy. */
async function pair() {
  const { id } = await rig.stack.api.createSession()
  const bob = await rig.stack.join(id)
  const { token } = await rig.stack.api.createConnection(id)
  const alice = await SignallingClient.open(proxy.via(token ?? ''))
  const { connectionId } = await alice.join()
  await bob.waitFor('connectionCreated')
  const evictAt = async (): Promise<unknown> =>
    (await rig.stack.postgres.query('SELECT evict_at FROM connection WHERE id = $1', [connectionId]))[0]?.evict_at
  return { id, alice, bob, connectionId, evictAt }
}

describe('a client', () => {
  it('with a half-open socket is marked as lost without a notification, then evicted once', () =>
    rig.run('half-open socket', async ({ figure, mark, since }) => {
      const { id, alice, bob, connectionId, evictAt } = await pair()
      mark()
      proxy.mode = 'hang'
      await until('it is marked as lost', async () => (await evictAt()) instanceof Date, 30_000)
      figure('marked as lost after ms', since())
      proxy.mode = 'pass'
      await until('it is no longer marked as lost', async () => (await evictAt()) === null, 30_000)
      expect(bob.received('connectionDestroyed')).toEqual([])
      expect(alice.isOpen).toBe(true)
      mark()
      proxy.mode = 'hang'
      const gone = await bob.waitFor('connectionDestroyed', undefined, 40_000)
      figure('evicted after ms', since())
      expect(gone).toEqual({ connectionId, reason: 'networkDisconnect' })
      expect((await rig.stack.api.getSession(id)).connections.numberOfElements).toBe(1)
      proxy.mode = 'reset'
      await alice.closed
      await rig.stack.api.deleteSession(id)
      await bob.closed
      expect(bob.received('connectionDestroyed')).toHaveLength(1)
    }))

  it('that reads too slowly is disconnected before it costs much memory, and others are not affected', () =>
    rig.run('slow reader', async ({ figure }) => {
      const { id, alice, bob, connectionId } = await pair()
      // Its pings arrive, but it receives nothing.
      proxy.mode = 'up'
      const data = 'x'.repeat(50_000)
      let sent = 0
      await until(
        'it is disconnected',
        async () => {
          await rig.stack.rest('POST', '/signal', { session: id, data })
          sent += 1
          return proxy.links === 0 || (await clientSockets()) === 1
        },
        60_000,
      )
      figure('megabytes sent to it before', Math.round((sent * data.length) / 1e6))
      await until('the other participant has received all', () => bob.received('signal').length === sent)
      expect(bob.received('sessionDisconnected')).toEqual([])
      const gone = await bob.waitFor('connectionDestroyed', undefined, 40_000)
      expect(gone).toEqual({ connectionId, reason: 'networkDisconnect' })
      proxy.mode = 'reset'
      await alice.closed
      await rig.stack.api.deleteSession(id)
      await bob.closed
    }))
})

async function clientSockets(): Promise<number> {
  const text = await (await fetch(`${rig.master().opsUrl}/metrics`)).text()
  return Number(/^session_service_client_sockets (\d+)$/m.exec(text)?.[1] ?? Number.NaN)
}
