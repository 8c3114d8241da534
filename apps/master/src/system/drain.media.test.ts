import { startStack, type Stack, SyntheticParticipant, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { leaveAll, type Meeting, nodeOf, returnsOf, reviveAll, seenAgain, useMeetings } from './fixtures/meeting.js'

const WAITING = 'waiting-idle-to-terminate'
const PATIENCE_MS = 40_000
let stack: Stack
beforeAll(async () => {
  stack = await startStack({ nodes: 0, nodeEnv: { MEDIA_NODE_DRAIN_TIMEOUT: '86400' } })
  await Promise.all(['media_one', 'media_two'].map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID })))
  await reviveAll(stack)
})
afterAll(async () => {
  // Whoever still drains would wait for its sessions.
  for (const node of stack.nodes) node.kill('SIGTERM')
  await stack.stop()
})

const meeting = useMeetings(() => stack)
const meetingOnOne = (): Promise<Meeting> => meeting('media_one')
const packets = ({ watched }: Meeting): number[] => watched.map((each) => each.stats().video?.packets ?? 0)
async function flowsOn(met: Meeting): Promise<void> {
  const before = packets(met)
  await until('media flows on', () => packets(met).every((count, nth) => count > (before[nth] ?? 0) + 20))
}
const isDraining = async (): Promise<boolean> => {
  const { status, drainDeadline, remaining } = await stack.api.getMediaNode('media_one')
  return status === WAITING && drainDeadline !== undefined && remaining?.sessions === 1
}

describe('a busy media node that gets SIGTERM', () => {
  it('A14: keeps its sessions and takes no others, and ends when the last of them does', async () => {
    const met = await meetingOnOne()
    const node = await nodeOf(stack, met.id)
    node.kill('SIGTERM')
    await until('REST shows that it waits', isDraining, PATIENCE_MS)
    await flowsOn(met)
    const { id } = await stack.api.createSession()
    const other = await stack.join(id)
    expect((await stack.api.getSession(id)).mediaNodeId).toBe('media_two')
    // A third one comes to the session that is there.
    const { token } = await stack.api.createConnection(met.id, { role: 'SUBSCRIBER' })
    const late = await SyntheticParticipant.join(token ?? '')
    const seen = await late.subscribe(met.streams[0]?.streamId ?? '')
    await until('the third one sees', () => (seen.stats().video?.keyFrames ?? 0) > 0)
    expect(met.peers.map(returnsOf)).toEqual(['', ''])
    await other.close()
    await late.close()
    await leaveAll([met])
    expect(await node.exited).toBe(0)
    await until('REST shows it no more', async () => (await stack.rest('GET', '/media-nodes/media_one')).status === 404)
  })

  it('A15: ends at once at the second one, and its sessions go on elsewhere', async () => {
    const met = await meetingOnOne()
    const node = await nodeOf(stack, met.id)
    node.kill('SIGTERM')
    await until('REST shows that it waits', isDraining, PATIENCE_MS)
    await flowsOn(met)
    const backMs = await seenAgain([met], () => node.kill('SIGTERM'))
    expect(await node.exited).toBe(0)
    expect((await stack.api.getSession(met.id)).mediaNodeId).toBe('media_two')
    console.info(`media again ${(backMs / 1000).toFixed(2)} s after the second SIGTERM`)
  })
})
