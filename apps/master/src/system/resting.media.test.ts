import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Heartbeat, HEARTBEAT_INTERVAL_MS, RESTING_INTERVAL_MS, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { startStack, type Stack, until } from '@session-service/testing'
import { closeAll, meet, nodeOf, startAllNodes } from './fixtures/meeting.js'

/** Between two signs of life of a master while the cluster rests, less what a busy machine delays one of them. */
const FAR_MS = 1_500

let stack: Stack
let bus: Bus
/** The intervals that the heartbeats of all nodes announce. */
const intervals: number[] = []

beforeAll(async () => {
  stack = await startStack({ nodes: 0, masters: 2, nodeEnv: { MEDIA_NODE_REST_AFTER: '1' } })
  await Promise.all(['media_one', 'media_two'].map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID })))
  await startAllNodes(stack)
  bus = await Bus.connect({ servers: stack.nats.url, name: 'listener' })
  bus.subscribe(SUBJECT.allHeartbeats, Heartbeat, ({ everyMs }) => void intervals.push(everyMs))
})
afterAll(async () => {
  await bus.close()
  await stack.stop()
})

async function signOfLife(): Promise<number> {
  const [row] = await stack.postgres.query(
    'SELECT extract(epoch FROM max(alive_at)) * 1000 AS at FROM master WHERE id = (SELECT min(id) FROM master)',
  )
  return Number(row?.at)
}

/** ms between the next two signs of life of one of the masters. */
async function distance(): Promise<number> {
  const next = (after: number): Promise<number> =>
    until('the master is alive', async () => {
      const at = await signOfLife()
      return at > after && at
    })
  const first = await next(await signOfLife())
  return (await next(first)) - first
}

const areConnected = async (): Promise<boolean> =>
  (await stack.api.listMediaNodes()).content.every(({ connected }) => connected)
const losses = (): string[] => stack.journal.find('the media node is lost')

it('masters renew their rows less often while all nodes rest, and often again during a session', async () => {
  await until('the masters rest', async () => (await distance()) > FAR_MS)
  expect(await areConnected()).toBe(true)
  const met = await meet(stack)
  await until('the masters rest no more', async () => (await distance()) < FAR_MS)
  await closeAll([met])
})

it('a master that starts while the nodes rest receives their heartbeats before it serves', async () => {
  await until('the masters rest again', async () => (await distance()) > FAR_MS)
  expect(losses()).toEqual([])
  intervals.length = 0
  const master = await stack.addMaster()
  expect(intervals).toContain(HEARTBEAT_INTERVAL_MS)
  const answer = await fetch(`${master.opsUrl}/metrics`)
  expect(await answer.text()).toMatch(/^session_service_media_nodes 2$/m)
  await master.stop()
})

it('a node that freezes while it rests is lost, and a session takes place on the other one', async () => {
  await until('the masters rest', async () => (await distance()) > FAR_MS)
  const [frozen] = stack.nodes
  frozen?.kill('SIGSTOP')
  const met = await meet(stack)
  expect(await nodeOf(stack, met.id)).not.toBe(frozen)
  await until('the frozen node is lost', () => losses().length === 1, 20 * RESTING_INTERVAL_MS)
  expect(await areConnected()).toBe(false)
  frozen?.kill('SIGCONT')
  await until('the node is back', areConnected)
  await closeAll([met])
})
