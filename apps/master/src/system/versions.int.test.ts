import { HEARTBEAT_INTERVAL_MS, MediaNodeView, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { startStack, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { z } from 'zod'

/** Messages of another version, without validation: nothing is dropped and no default is added. */
const ANY = [z.unknown(), z.unknown(), 4_000] as const
const UNKNOWN = { fromTheFuture: { deep: [1] }, toString: 1 }

let stack: Stack
let bus: Bus
beforeAll(async () => {
  stack = await startStack({ nodeEnv: { MEDIA_NODE_ID: 'real' } })
  bus = await Bus.connect({ servers: stack.nats.url, name: 'other-version' })
})
afterAll(async () => {
  await bus.close()
  await stack.stop()
})

describe('a master', () => {
  /** The properties that all versions have. */
  const least = {
    ...{ ip: '127.0.0.9', status: 'running', cpuLoad: 1, memoryBytes: 1 },
    ...{ workers: 1, rooms: 0, connections: 0, streams: 0, consumers: 0 },
  }

  it.each([
    ['older-node', {}],
    ['newer-node', UNKNOWN],
  ])('accepts heartbeats, reports and answers of the media node %s', async (nodeId, more) => {
    const ids = { nodeId, bootId: `boot_${nodeId}` }
    const info = {
      memory: 1,
      version: '9.9.9',
      capabilities: [],
      modules: [],
      workers: [],
      codecs: [],
      slots: {},
      ...more,
    }
    const describing = bus.serve(SUBJECT.nodeCommand(nodeId, 'describe'), ANY, () => info)
    const hello = { factId: `fact_${nodeId}`, ...ids, kind: 'hello', ip: '127.0.0.9', rooms: [] }
    const beat = () =>
      bus.publish(SUBJECT.heartbeat(nodeId), z.unknown(), { ...ids, ...least, sentAt: Date.now(), ...more })
    await bus.flush()
    const beating = setInterval(beat, HEARTBEAT_INTERVAL_MS)
    try {
      expect(await bus.request(SUBJECT.fact(nodeId), ANY, { ...hello, ...more })).toMatchObject({ dropRoomIds: [] })
      const shown = await until('the REST API shows the node with its answer', async () => {
        const { status, body } = await stack.rest('GET', `/media-nodes/${nodeId}?extra-info=true`)
        const node = status === 200 ? MediaNodeView.parse(body) : undefined
        return node?.connected && node.mediaserverInfo ? node : undefined
      })
      expect(shown).toMatchObject({ id: nodeId, status: 'running', mediaserverInfo: { version: '9.9.9' } })
      expect(JSON.stringify(shown)).not.toContain('fromTheFuture')
    } finally {
      clearInterval(beating)
      await describing.stop()
    }
  })

  it('delivers messages of a newer master to its clients', async () => {
    const { id } = await stack.api.createSession({ mediaNode: { id: 'real' } })
    const client = await stack.join(id)
    const [row] = await stack.postgres.query('SELECT unique_id FROM session WHERE id = $1', [id])
    const notification = { method: 'signal', params: { type: 'signal', data: 'newer', ...UNKNOWN }, ...UNKNOWN }
    bus.publish(SUBJECT.session(String(row?.unique_id)), z.unknown(), { kind: 'notify', notification, ...UNKNOWN })
    await client.waitFor('signal', ({ data }) => data === 'newer')
    await client.close()
  })
})

it('a media node executes commands of a newer master', async () => {
  const command = (name: 'inventory' | 'drain' | 'undrain', call: object): Promise<unknown> =>
    bus.request(SUBJECT.nodeCommand('real', name), ANY, { ...call, ...UNKNOWN })
  expect(await command('inventory', {})).toMatchObject({ rooms: expect.any(Array) as unknown })
  await command('drain', { deadlineMs: null })
  await command('undrain', {})
  expect((await stack.rest('GET', '/media-nodes/real')).status).toBe(200)
})
