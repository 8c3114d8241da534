import {
  type AppProcess,
  EventSink,
  freePorts,
  type Stack,
  startMediaNode,
  startStack,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { nodeOf, recoveriesOf, startAllNodes, mediaRestoredMs, useMeetings } from './fixtures/meeting.js'

const TIMEOUT_MS = 30_000
let stack: Stack
let sink: EventSink
const duplicates: AppProcess[] = []

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({ nodes: 0, masters: 2, masterEnv: webhookEnv(sink) })
  await Promise.all(['north', 'south'].map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID })))
  await startAllNodes(stack)
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})
afterEach(async () => {
  await Promise.all(duplicates.splice(0).map((node) => node.stop().catch(() => undefined)))
})
const meeting = useMeetings(() => stack)

/** Starts another process with the configuration of the node. */
async function startDuplicate(node: AppProcess): Promise<AppProcess> {
  const [port = 0] = await freePorts(1)
  const duplicate = await startMediaNode({ env: { ...node.env, SERVICE_OPS_PORT: String(port) }, name: 'duplicate' })
  duplicates.push(duplicate)
  // A process that ends before it is ready rejects this; the tests check its exit code.
  duplicate.ready.catch(() => undefined)
  return duplicate
}
const bootOf = async (id: string): Promise<unknown> => {
  const [row] = await stack.postgres.query('SELECT boot_id AS boot FROM media_node WHERE id = $1', [id])
  return row?.boot
}

describe('a second process with the MEDIA_NODE_ID of a node', () => {
  it('is refused with an error and a non-zero exit code while the first is alive, and no call loses media', async () => {
    const met = await meeting('north')
    const node = await nodeOf(stack, met.id)
    const boot = await bootOf('north')
    const framesBefore = met.watched.map((watched) => watched.stats().video?.frames ?? 0)
    const duplicate = await startDuplicate(node)
    expect(await duplicate.exited).toBe(1)
    expect(duplicate.lastLines.filter((line) => line.includes('"level":"fatal"'))).toEqual([
      expect.stringMatching(/MEDIA_NODE_ID: another process .* is alive with the id north/),
    ])
    await until('media continues', () =>
      met.watched.every((watched, nth) => (watched.stats().video?.frames ?? 0) > (framesBefore[nth] ?? 0) + 15),
    )
    expect(met.peers.map(recoveriesOf)).toEqual(['', ''])
    expect(await bootOf('north')).toBe(boot)
    expect(node.running).toBe(true)
    expect((await stack.api.getSession(met.id)).mediaNodeId).toBe('north')
    expect(sink.accepted.filter(({ event }) => event.event === 'nodeCrashed')).toEqual([])
  })

  it('is refused while the first is frozen for less than the silent window', async () => {
    const met = await meeting('north')
    const node = await nodeOf(stack, met.id)
    const boot = await bootOf('north')
    const duplicate = await startDuplicate(node)
    node.kill('SIGSTOP')
    const thaw = setTimeout(() => node.kill('SIGCONT'), 1_500)
    try {
      expect(await duplicate.exited).toBe(1)
    } finally {
      clearTimeout(thaw)
      node.kill('SIGCONT')
    }
    expect(await bootOf('north')).toBe(boot)
    expect(met.peers.map(recoveriesOf)).toEqual(['', ''])
  })

  it('takes over when the first was killed', async () => {
    const met = await meeting('north')
    const node = await nodeOf(stack, met.id)
    const boot = await bootOf('north')
    const ms = await mediaRestoredMs([met], async () => {
      node.kill('SIGKILL')
      await node.exited
      await stack.revive(node)
    })
    console.info(`media again ${ms.toFixed(0)} ms after kill -9 and restart under the same id`)
    expect(await bootOf('north')).not.toBe(boot)
  })

  it('takes over from a process that stays frozen, which ends with a non-zero exit code when it wakes', async () => {
    const met = await meeting('south')
    const node = await nodeOf(stack, met.id)
    const boot = await bootOf('south')
    node.kill('SIGSTOP')
    const successor = await startDuplicate(node)
    await successor.ready
    await until('the successor is registered', async () => (await bootOf('south')) !== boot, TIMEOUT_MS)
    const taken = await bootOf('south')
    node.kill('SIGCONT')
    expect(await node.exited).toBe(1)
    expect(node.lastLines.some((line) => line.includes('another process') && line.includes('"level":"fatal"'))).toBe(
      true,
    )
    expect(await bootOf('south')).toBe(taken)
    expect(successor.running).toBe(true)
  })
})
