import { nodeRpc, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { newClusterUsers, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'

const PATIENCE_MS = 60_000
jest.setTimeout(3 * PATIENCE_MS)

let north: Stack
let south: Stack
beforeAll(async () => {
  north = await startStack({
    busUsers: ['north', 'south'].map(newClusterUsers),
    env: { SERVICE_BUS_CLUSTER: 'north' },
    nodeEnv: { MEDIA_NODE_ID: 'north-node' },
  })
  south = await startStack({
    nats: north.nats,
    env: { SERVICE_BUS_CLUSTER: 'south' },
    nodeEnv: { MEDIA_NODE_ID: 'south-node' },
  })
})
afterAll(async () => {
  await south?.stop()
  await north?.stop()
})

const nodesOf = async (stack: Stack): Promise<string[]> =>
  (await stack.api.listMediaNodes()).content.map(({ id }) => id)

/** Opens a room without a session on the node, which the cluster's next reconciliation closes. */
async function openStrayRoom(bus: Bus, nodeId: string): Promise<void> {
  const limits = { maxSendKbps: 0, minSendKbps: 0, maxRecvKbps: 0, minRecvKbps: 0 }
  const room = { roomId: 'stray', connectionId: 'con_stray', sessionId: 'stray', epoch: 1 }
  await bus.request(SUBJECT.nodeCommand(nodeId, 'join'), nodeRpc('join'), { ...room, videoCodec: 'VP8', limits })
}

it('two clusters on one bus server see only their own media nodes and leave the rooms of the other open', async () => {
  const { id } = await north.api.createSession()
  const alice = await north.join(id)
  const buses = await Promise.all(
    ['north', 'south'].map((cluster) =>
      Bus.connect({ servers: north.nats.urlsOf(cluster).natsUrl, name: 'tester', cluster }),
    ),
  )
  const [northBus, southBus] = buses
  if (!northBus || !southBus) throw new Error('both buses are connected')
  try {
    await until('each node is listed', async () => (await nodesOf(north)).length && (await nodesOf(south)).length)
    expect([await nodesOf(north), await nodesOf(south)]).toEqual([['north-node'], ['south-node']])
    const rooms = async (bus: Bus, nodeId: string): Promise<string[]> =>
      (await bus.request(SUBJECT.nodeCommand(nodeId, 'inventory'), nodeRpc('inventory'), {})).rooms.map(
        ({ roomId }) => roomId,
      )
    const before = await rooms(northBus, 'north-node')
    expect(before).toHaveLength(1)
    await openStrayRoom(southBus, 'south-node')
    const isReconciled = async (): Promise<boolean> => (await rooms(southBus, 'south-node')).length === 0
    await until('the master of the other cluster has reconciled its nodes', isReconciled, PATIENCE_MS)
    expect(await rooms(northBus, 'north-node')).toEqual(before)
    await expect(southBus.request(SUBJECT.nodeCommand('north-node', 'inventory'), nodeRpc('inventory'), {}))
      .rejects //
      .toMatchObject({ code: 'UNAVAILABLE' })
    expect(alice.received('sessionDisconnected')).toEqual([])
    expect([await nodesOf(north), await nodesOf(south)]).toEqual([['north-node'], ['south-node']])
  } finally {
    await Promise.all(buses.map((bus) => bus.close()))
    await alice.close()
  }
})

it('a cluster that is renamed by POST restart keeps its media nodes', async () => {
  const { status } = await south.rest('POST', '/restart', { SERVICE_PRO_CLUSTER_ID: 'renamed' })
  expect(status).toBe(200)
  const name = async (): Promise<unknown> => {
    const answer = await south.rest('GET', '/config').catch(() => undefined)
    return (answer?.body as Record<string, unknown> | undefined)?.SERVICE_PRO_CLUSTER_ID
  }
  await until('the new name is in force', async () => (await name()) === 'renamed', PATIENCE_MS)
  const connected = async (): Promise<boolean | undefined> => {
    const list = await south.api.listMediaNodes().catch(() => undefined)
    return list?.content.every((node) => node.connected && node.status === 'running')
  }
  await until('its node is connected again', connected, PATIENCE_MS)
  const { id } = await south.api.createSession()
  const bob = await south.join(id)
  await bob.close()
})
