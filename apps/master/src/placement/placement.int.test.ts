import { ServiceApi, type SignallingClient, type Stack, startStack, until } from '@session-service/testing'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'

jest.setTimeout(180_000)

const SESSIONS = 30
const NODES = ['one', 'two', 'three']
let stack: Stack | undefined
const standIns: FakeMediaNode[] = []
afterEach(async () => {
  await stack?.stop()
  stack = undefined
  for (const node of standIns.splice(0)) await node.stop()
})

/** The token of a first user for each of so many sessions, at one master after the other. */
async function tokens({ api, atMaster }: Stack, count: number): Promise<string[]> {
  const made = Array.from({ length: count }, async (_, nth) => {
    const { id } = await api.createSession()
    const { token } = await api.createConnection(id)
    return atMaster(nth, token)
  })
  return Promise.all(made)
}

/** How many sessions each node has been given. */
async function roomsByNode(running: Stack): Promise<number[]> {
  const rows = await running.postgres.query(
    'SELECT count(*)::integer AS count FROM session WHERE media_node_id IS NOT NULL GROUP BY media_node_id',
  )
  return rows.map(({ count }) => Number(count))
}

/** All join at the same moment, once that may be; gives how many sessions each node has then. */
async function arrive(running: Stack, what: string, isReady: () => Promise<boolean>): Promise<number[]> {
  const all = await tokens(running, SESSIONS)
  const sockets = await Promise.all(all.map((token) => running.openSocket(token)))
  await until('the nodes are ready', isReady, 60_000)
  const start = performance.now()
  await Promise.all(sockets.map((socket: SignallingClient) => socket.join()))
  const took = performance.now() - start
  const counts = await roomsByNode(running)
  console.log(`${what}: ${counts.join(', ')} sessions; all had joined after ${took.toFixed(0)} ms`)
  const held = await until('the masters have counted their choices', () => placements(running, SESSIONS))
  expect(held).toBe(SESSIONS)
  await Promise.all(sockets.map((socket) => socket.close()))
  return counts
}

describe('the first users of 30 sessions arrive at once on three nodes', () => {
  it.each([1, 2])('G12: with %i masters: ten sessions each, or two more or less', async (masters) => {
    const running = (stack = await startStack({ masters, nodes: 0 }))
    // Their load is told: real ones share a machine, and each sees other moments of it.
    for (const id of NODES) standIns.push(await FakeMediaNode.start(running.nats.url, id))
    const counts = await arrive(running, `${masters} masters`, () => areKnown(running))
    expect(counts).toHaveLength(3)
    for (const count of counts) expect(Math.abs(count - SESSIONS / 3)).toBeLessThanOrEqual(2)
  })

  it('which measure their load: each takes some, and all have a place', async () => {
    const running = (stack = await startStack({ nodes: 0 }))
    await Promise.all(NODES.map((MEDIA_NODE_ID) => running.addNode({ MEDIA_NODE_ID })))
    // What their own start has cost is over once they have measured for as long.
    const isReady = async (): Promise<boolean> => (await areAlike(running)) && areKnown(running)
    const counts = await arrive(running, 'real nodes', isReady)
    expect(counts).toHaveLength(3)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(SESSIONS)
  })
})

/** Every master would put a session on each. */
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
/** No more apart than by the price of a few sessions. */
const ALIKE_PERCENT = 20
async function areAlike({ api }: Stack): Promise<boolean> {
  const { content } = await api.listMediaNodes()
  const loads = content.map(({ load }) => load)
  const oldest = Math.max(...content.map(({ launchingTime }) => launchingTime))
  return Date.now() - oldest > MEASURED_MS && Math.max(...loads) - Math.min(...loads) < ALIKE_PERCENT
}

/** Choices that the masters count, once they are at least as many. */
async function placements({ masters }: Stack, atLeast: number): Promise<number | undefined> {
  const texts = await Promise.all(
    masters.map(({ opsUrl }) => fetch(`${opsUrl}/metrics`).then((answer) => answer.text())),
  )
  const counted = texts.map((text) => Number(/placements_total\{outcome="placed"\} (\d+)/.exec(text)?.[1] ?? 0))
  const sum = counted.reduce((total, count) => total + count, 0)
  return sum >= atLeast ? sum : undefined
}
