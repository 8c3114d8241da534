import { type SignallingClient, type Stack, startStack, until } from '@session-service/testing'
import { afterEach, describe, expect, it } from '@jest/globals'

const SESSIONS = 30
let stack: Stack | undefined
afterEach(async () => {
  await stack?.stop()
  stack = undefined
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

describe('the first users of 30 sessions arrive at once on three nodes', () => {
  it.each([1, 2])('with %i masters: ten sessions each, or two more or less', async (masters) => {
    const running = (stack = await startStack({ masters, nodes: 3 }))
    const all = await tokens(running, SESSIONS)
    const sockets = await Promise.all(all.map((token) => running.openSocket(token)))
    // They share a machine, and measure it: once they have done so for as long, all see much the same.
    await until('the nodes are alike', () => areAlike(running))
    const start = performance.now()
    await Promise.all(sockets.map((socket: SignallingClient) => socket.join()))
    const took = performance.now() - start
    const counts = await roomsByNode(running)
    console.log(`${masters} masters: ${counts.join(', ')} sessions; all had joined after ${took.toFixed(0)} ms`)
    expect(counts).toHaveLength(3)
    for (const count of counts) expect(Math.abs(count - SESSIONS / 3)).toBeLessThanOrEqual(2)
    const held = await until('the masters have counted their choices', () => placements(running, SESSIONS))
    expect(held).toBe(SESSIONS)
    await Promise.all(sockets.map((socket) => socket.close()))
  })
})

const MEASURED_MS = 6_000
async function areAlike({ api }: Stack): Promise<boolean> {
  const { content } = await api.listMediaNodes()
  const loads = content.map(({ load }) => load)
  const oldest = Math.max(...content.map(({ launchingTime }) => launchingTime))
  return Date.now() - oldest > MEASURED_MS && Math.max(...loads) - Math.min(...loads) < 3
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
