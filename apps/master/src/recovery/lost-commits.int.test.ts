import { type SignallingClient, type Stack, startStack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { FakeMediaNode, SILENT_TRACK } from '../recordings/fixtures/fake-media-node.js'

const PATIENCE_MS = 30_000
jest.setTimeout(3 * PATIENCE_MS)

let stack: Stack
let node: FakeMediaNode
beforeAll(async () => {
  stack = await startStack({ nodes: 0, masters: 2 })
  node = await FakeMediaNode.start(stack.nats.url, 'fake_node')
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
})

const session = async (id: string): Promise<unknown> => {
  const sql = `SELECT media_epoch AS epoch, media_node_id IS NOT NULL AS "isPlaced",
                      (SELECT count(*)::int FROM stream p WHERE p.session_id = s.id) AS streams
               FROM session s WHERE id = $1`
  return (await stack.postgres.query(sql, [id]))[0]
}

describe('a session whose placement the database has lost, as in a failover without the last commits', () => {
  it.each<[string, string]>([
    ['before its first placement', 'media_epoch = media_epoch - 1, media_node_id = NULL, media_node_boot_id = NULL'],
    ['on a former node', `media_epoch = media_epoch - 1, media_node_id = 'former', media_node_boot_id = 'boot'`],
  ])('is placed again after its clients, at all masters, have lost their media: %s', async (_, former) => {
    const { id } = await stack.api.createSession()
    const tokens = await Promise.all([1, 2].map(async () => (await stack.api.createConnection(id)).token))
    const clients: SignallingClient[] = []
    for (const [nth, token] of tokens.entries()) {
      const client = await stack.openSocket(stack.atMaster(nth, token))
      await client.join()
      clients.push(client)
    }
    await clients[0]?.request('publish', { tracks: [SILENT_TRACK] })
    expect(await session(id)).toEqual({ epoch: 1, isPlaced: true, streams: 1 })
    await stack.postgres.query(`UPDATE session SET ${former} WHERE id = $1`, [id])
    for (const client of clients)
      expect(await client.waitFor('mediaLost', undefined, PATIENCE_MS)).toMatchObject({ mediaEpoch: 2 })
    expect(await session(id)).toEqual({ epoch: 1, isPlaced: false, streams: 0 })
    for (const client of clients) await client.request('rejoin', {})
    expect(await session(id)).toEqual({ epoch: 2, isPlaced: true, streams: 0 })
    await stack.api.deleteSession(id)
  })
})
