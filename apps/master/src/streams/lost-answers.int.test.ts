import type { NodeCommand } from '@session-service/contract'
import { type SignallingClient, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { SILENT_TRACK, FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'

let stack: Stack
let node: FakeMediaNode
const clients: SignallingClient[] = []

beforeAll(async () => {
  stack = await startStack({ nodes: 0, masters: 1 })
  node = await FakeMediaNode.start(stack.nats.url, 'stand_in')
})
afterEach(async () => {
  node.onCommand = () => undefined
  for (const client of clients.splice(0)) await client.request('leave', {})
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
})

async function join(sessionId: string): Promise<SignallingClient> {
  const client = await stack.join(sessionId)
  clients.push(client)
  return client
}

/** The node carries such commands out only when the result is called, which is too late for whoever asked. */
function stall(stalled: NodeCommand): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  node.onCommand = (command) => (command === stalled ? promise : undefined)
  return () => {
    node.onCommand = () => undefined
    resolve()
  }
}

const told = (command: NodeCommand, call: object): boolean =>
  node.callsOf(command).some((one) => Object.entries(call).every(([name, value]) => Reflect.get(one, name) === value))
const isTold = (command: NodeCommand, call: object): Promise<unknown> =>
  until(`the node is told to ${command}`, () => told(command, call))

describe('when a node does not answer in time', () => {
  it('it is told to let go of the subscription; so it is by who unsubscribes without one', async () => {
    const { id } = await stack.api.createSession()
    const [alice, bob] = [await join(id), await join(id)]
    const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
    const release = stall('subscribe')
    const subscription = { streamId, rtpCapabilities: { codecs: [], headerExtensions: [] } }
    await expect(bob.request('subscribe', subscription)).rejects.toMatchObject({ code: 'TIMEOUT' })
    await isTold('unsubscribe', { streamId })
    release()
    node.heard.length = 0
    await bob.request('unsubscribe', { streamId })
    expect(told('unsubscribe', { streamId })).toBe(true)
    await bob.request('subscribe', subscription)
  })

  it('it is told to let go of the publication', async () => {
    const { id } = await stack.api.createSession()
    const alice = await join(id)
    node.heard.length = 0
    const release = stall('publish')
    await expect(alice.request('publish', { tracks: [SILENT_TRACK] })).rejects.toMatchObject({ code: 'TIMEOUT' })
    const [call] = node.callsOf('publish')
    const streamId: unknown = call && Reflect.get(call, 'streamId')
    await isTold('unpublish', { streamId })
    release()
  })
})

describe('a stream that has no row', () => {
  it('is ended on the node by its publisher', async () => {
    const { id } = await stack.api.createSession()
    const alice = await join(id)
    const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
    await stack.postgres.query('DELETE FROM stream WHERE id = $1', [streamId])
    await alice.request('unpublish', { streamId })
    expect(told('unpublish', { streamId })).toBe(true)
    const bob = await join(id)
    await expect(bob.request('unpublish', { streamId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('is ended on the node by its publisher, and for the others, when its media was lost before', async () => {
    const { id } = await stack.api.createSession()
    const [alice, bob] = [await join(id), await join(id)]
    const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
    await stack.postgres.query('UPDATE session SET media_epoch = 2 WHERE id = $1', [id])
    await stack.postgres.query('DELETE FROM stream WHERE id = $1', [streamId])
    await alice.request('rejoin', {})
    await alice.request('unpublish', { streamId })
    expect(told('unpublish', { streamId })).toBe(true)
    expect(await bob.waitFor('streamDestroyed')).toMatchObject({ streamId, reason: 'unpublish' })
  })
})
