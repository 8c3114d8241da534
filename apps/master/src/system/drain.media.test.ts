import { startStack, type Stack, SyntheticParticipant, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  closeAll,
  type Meeting,
  nodeOf,
  recoveriesOf,
  startAllNodes,
  mediaRestoredMs,
  useMeetings,
} from './fixtures/meeting.js'

const WAITING = 'waiting-idle-to-terminate'
const TIMEOUT_MS = 40_000
let stack: Stack
beforeAll(async () => {
  stack = await startStack({ nodes: 0, nodeEnv: { MEDIA_NODE_DRAIN_TIMEOUT: '86400' } })
  await Promise.all(['media_one', 'media_two'].map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID })))
  await startAllNodes(stack)
})
afterAll(async () => {
  // A node that drains would wait for its sessions.
  for (const node of stack.nodes) node.kill('SIGTERM')
  await stack.stop()
})

const meeting = useMeetings(() => stack)
const meetingOnOne = (): Promise<Meeting> => meeting('media_one')
const packets = ({ watched }: Meeting): number[] => watched.map((each) => each.stats().video?.packets ?? 0)
async function mediaContinues(met: Meeting): Promise<void> {
  const before = packets(met)
  await until('media continues', () => packets(met).every((count, nth) => count > (before[nth] ?? 0) + 20))
}
const isDraining = async (): Promise<boolean> => {
  const { status, drainDeadline, remaining } = await stack.api.getMediaNode('media_one')
  return status === WAITING && drainDeadline !== undefined && remaining?.sessions === 1
}

describe('a busy media node that gets SIGTERM', () => {
  it('keeps its sessions, accepts no others, and exits with the end of the last one', async () => {
    const met = await meetingOnOne()
    const node = await nodeOf(stack, met.id)
    node.kill('SIGTERM')
    await until('the REST API shows that it waits', isDraining, TIMEOUT_MS)
    await mediaContinues(met)
    const { id } = await stack.api.createSession()
    const other = await stack.join(id)
    expect((await stack.api.getSession(id)).mediaNodeId).toBe('media_two')
    // A third participant joins the existing session.
    const { token } = await stack.api.createConnection(met.id, { role: 'SUBSCRIBER' })
    const late = await SyntheticParticipant.join(token ?? '')
    const seen = await late.subscribe(met.streams[0]?.streamId ?? '')
    await until('the third participant receives video', () => (seen.stats().video?.keyFrames ?? 0) > 0)
    expect(met.peers.map(recoveriesOf)).toEqual(['', ''])
    await other.close()
    await late.close()
    await closeAll([met])
    expect(await node.exited).toBe(0)
    await until(
      'the REST API no longer shows it',
      async () => (await stack.rest('GET', '/media-nodes/media_one')).status === 404,
    )
  })

  it('exits at once after a second SIGTERM, and its sessions move to another node', async () => {
    const met = await meetingOnOne()
    const node = await nodeOf(stack, met.id)
    node.kill('SIGTERM')
    await until('the REST API shows that it waits', isDraining, TIMEOUT_MS)
    await mediaContinues(met)
    const backMs = await mediaRestoredMs([met], () => node.kill('SIGTERM'))
    expect(await node.exited).toBe(0)
    expect((await stack.api.getSession(met.id)).mediaNodeId).toBe('media_two')
    console.info(`media again ${(backMs / 1000).toFixed(2)} s after the second SIGTERM`)
  })
})
