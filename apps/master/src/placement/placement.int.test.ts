import { ServiceApi, type SignallingClient, type Stack, startStack, until } from '@session-service/testing'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'

jest.setTimeout(180_000)

const SESSIONS = 30
const NODES = ['one', 'two', 'three']
let stack: Stack | undefined
const fakeNodes: FakeMediaNode[] = []
afterEach(async () => {
  await stack?.stop()
  stack = undefined
  for (const node of fakeNodes.splice(0)) await node.stop()
})

/** Creates `count` sessions with a token each, alternating between the masters. */
async function tokens({ api, atMaster }: Stack, count: number): Promise<string[]> {
  const made = Array.from({ length: count }, async (_, nth) => {
    const { id } = await api.createSession()
    const { token } = await api.createConnection(id)
    return atMaster(nth, token)
  })
  return Promise.all(made)
}

/** Number of sessions per node. */
async function roomsByNode(running: Stack): Promise<number[]> {
  const rows = await running.postgres.query(
    'SELECT count(*)::integer AS count FROM session WHERE media_node_id IS NOT NULL GROUP BY media_node_id',
  )
  return rows.map(({ count }) => Number(count))
}

/** Joins all sessions concurrently once `isReady` holds, and returns the number of sessions per node. */
async function arrive(running: Stack, what: string, isReady: () => Promise<boolean>): Promise<number[]> {
  const all = await tokens(running, SESSIONS)
  const sockets = await Promise.all(all.map((token) => running.openSocket(token)))
  await until('the nodes are ready', isReady, 60_000)
  const start = performance.now()
  await Promise.all(sockets.map((socket: SignallingClient) => socket.join()))
  const took = performance.now() - start
  const counts = await roomsByNode(running)
  console.log(`${what}: ${counts.join(', ')} sessions; all had joined after ${took.toFixed(0)} ms`)
  const held = await until('the masters have counted their placements', () => placements(running, SESSIONS))
  expect(held).toBe(SESSIONS)
  await Promise.all(sockets.map((socket) => socket.close()))
  return counts
}

describe('30 sessions that are joined concurrently on three media nodes', () => {
  it.each([1, 2])('are spread by %i masters to ten sessions per node, give or take two', async (masters) => {
    const running = (stack = await startStack({ masters, nodes: 0 }))
    // Fake nodes with a fixed load: real ones share a machine and measure it at different times.
    for (const id of NODES) fakeNodes.push(await FakeMediaNode.start(running.nats.url, id))
    const counts = await arrive(running, `${masters} masters`, () => areKnown(running))
    expect(counts).toHaveLength(3)
    for (const count of counts) expect(Math.abs(count - SESSIONS / 3)).toBeLessThanOrEqual(2)
  })

  it('are placed, some on each node, when the nodes measure their load', async () => {
    const running = (stack = await startStack({ nodes: 0 }))
    await Promise.all(NODES.map((MEDIA_NODE_ID) => running.addNode({ MEDIA_NODE_ID })))
    // The load of their own start is over after a whole measuring window.
    const isReady = async (): Promise<boolean> => (await areAlike(running)) && areKnown(running)
    const counts = await arrive(running, 'real nodes', isReady)
    expect(counts).toHaveLength(3)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(SESSIONS)
  })
})

/** Whether every master accepts a session on each node. */
async function areKnown({ masterUrls, secret }: Stack): Promise<boolean> {
  const apis = masterUrls.map((url) => new ServiceApi(url, secret))
  const asked = apis.flatMap((api) =>
    NODES.map(async (id) => {
      const { status, body } = await api.request('POST', '/sessions', { mediaNode: { id } })
      if (status === 200) await api.deleteSession((body as { id: string }).id)
      return status === 200
    }),
  )
  return (await Promise.all(asked)).every(Boolean)
}

const MEASURED_MS = 6_000
/** About the cost of a few sessions. */
const ALIKE_PERCENT = 20
async function areAlike({ api }: Stack): Promise<boolean> {
  const { content } = await api.listMediaNodes()
  const loads = content.map(({ load }) => load)
  const oldest = Math.max(...content.map(({ launchingTime }) => launchingTime))
  return Date.now() - oldest > MEASURED_MS && Math.max(...loads) - Math.min(...loads) < ALIKE_PERCENT
}

/** Placements that the masters have counted, once there are at least `atLeast`. */
async function placements({ masters }: Stack, atLeast: number): Promise<number | undefined> {
  const texts = await Promise.all(
    masters.map(({ opsUrl }) => fetch(`${opsUrl}/metrics`).then((answer) => answer.text())),
  )
  const counted = texts.map((text) => Number(/placements_total\{outcome="placed"\} (\d+)/.exec(text)?.[1] ?? 0))
  const sum = counted.reduce((total, count) => total + count, 0)
  return sum >= atLeast ? sum : undefined
}
