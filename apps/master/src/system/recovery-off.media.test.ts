import { descendantsOf, EventSink, startStack, type Stack, until, webhookEnv } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { closeAll, meet, nodeOf, startAllNodes } from './fixtures/meeting.js'
import { Recordings } from './fixtures/recorded.js'

let stack: Stack
let sink: EventSink

beforeAll(async () => {
  sink = await EventSink.open()
  const masterEnv = { ...webhookEnv(sink), SERVICE_PRO_SESSION_RECOVERY: 'false', SERVICE_RECORDING: 'true' }
  stack = await startStack({ nodes: 0, masters: 2, masterEnv })
  await Promise.all(['media_one', 'media_two'].map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID })))
  await startAllNodes(stack)
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})

it('without recovery a killed node ends its sessions and their recordings, with events in the order of the contract', async () => {
  const recordings = new Recordings(stack, sink)
  const met = await meet(stack)
  const other = await meet(stack)
  const node = await nodeOf(stack, met.id)
  const shared = (await nodeOf(stack, other.id)) === node
  expect((await recordings.start(met.id, { outputMode: 'INDIVIDUAL' })).status).toBe(200)
  await recordings.lasts(1.5)
  const killedAt = Date.now()
  node.kill('SIGKILL')
  for (const peer of met.peers) {
    const { params } = await peer.waitFor('sessionDisconnected', undefined, 20_000)
    expect(params).toEqual({ reason: 'nodeCrashed' })
  }
  await sink.ended(met.id)
  const crash = sink.accepted.find(({ event }) => event.event === 'nodeCrashed')
  console.info(`nodeCrashed ${(crash?.at ?? 0) - killedAt} ms after kill -9`)
  expect(crash?.event.sessionIds).toEqual(expect.arrayContaining([met.id]))
  expect(crash?.event.recordingIds).toEqual([met.id])
  const ends = sink.ofSession(met.id).filter(({ event }) => 'reason' in event)
  expect(ends.map(({ event }) => `${event.event} ${String(event.reason)}`)).toEqual([
    ...Array.from({ length: 4 }, () => 'webrtcConnectionDestroyed nodeCrashed'),
    ...Array.from({ length: 2 }, () => 'participantLeft nodeCrashed'),
    'recordingStatusChanged nodeCrashed',
    'sessionDestroyed nodeCrashed',
  ])
  const order = sink.accepted.map(({ id }) => id)
  expect(order.indexOf(ends[0]?.id ?? '')).toBeGreaterThan(order.indexOf(crash?.id ?? ''))
  expect(sink.ofSession(met.id)).toHaveLength(1 + 2 + 4 + 1 + ends.length)
  expect((await stack.rest('GET', `/sessions/${met.id}`)).status).toBe(404)
  if (!shared) expect((await stack.api.getSession(other.id)).connections.numberOfElements).toBe(2)
  const again = await stack.rest('POST', '/sessions', { customSessionId: met.id })
  expect(again.status).toBe(200)
  await stack.api.deleteSession(met.id)
  // The successor of the node uploads its recorded part.
  await stack.revive(node)
  expect((await recordings.becomes(met.id, 'ready')).duration).toBeGreaterThan(0.5)
  await recordings.expectEvents(met.id, 'started -', 'stopped nodeCrashed', 'ready nodeCrashed')
  await recordings.expectNothingLeft(stack.nodes.map(({ env }) => env.MEDIA_NODE_RECORDING_PATH ?? ''))
  await closeAll([met, other])
})

it('without recovery a killed worker ends its sessions with mediaServerDisconnect', async () => {
  const met = await until('a node accepts a session', () => meet(stack), 30_000)
  const node = await nodeOf(stack, met.id)
  const crashes = sink.accepted.filter(({ event }) => event.event === 'nodeCrashed').length
  for (const { pid, command } of descendantsOf(node.pid)) {
    if (command.includes('mediasoup-worker')) process.kill(pid, 'SIGKILL')
  }
  await sink.ended(met.id)
  expect(sink.ofSession(met.id).at(-1)?.event).toMatchObject({ reason: 'mediaServerDisconnect' })
  expect(sink.accepted.filter(({ event }) => event.event === 'nodeCrashed')).toHaveLength(crashes)
  await closeAll([met])
})
