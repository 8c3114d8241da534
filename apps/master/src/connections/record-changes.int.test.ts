import type { NodeCommand } from '@session-service/contract'
import { type SignallingClient, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'

let stack: Stack
let node: FakeMediaNode
let client: SignallingClient
let sessionId: string
let connectionId: string

beforeAll(async () => {
  stack = await startStack({ nodes: 0, masters: 1 })
  node = await FakeMediaNode.start(stack.nats.url, 'fake_node')
})
afterEach(async () => {
  node.onCommand = () => undefined
  await client.request('leave', {})
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
})

async function openClient(): Promise<void> {
  ;({ id: sessionId } = await stack.api.createSession())
  const { id, token } = await stack.api.createConnection(sessionId)
  connectionId = id
  client = await stack.openSocket(token ?? '')
}

async function patch(record: boolean): Promise<void> {
  const answer = await stack.rest('PATCH', `/sessions/${sessionId}/connection/${connectionId}`, { record })
  expect(answer).toMatchObject({ status: 200, body: { record } })
}

/** Stalls one command until the result is called, and rejects `changePeer` as for an unknown participant. */
function stall(stalled: NodeCommand): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  node.commands.length = 0
  node.onCommand = (command) => {
    if (command === 'changePeer') throw new Error('there is no such participant')
    return command === stalled ? promise : undefined
  }
  return () => {
    node.onCommand = () => undefined
    node.commands.length = 0
    resolve()
  }
}

it('sends a change that did not reach the node again when it is requested again', async () => {
  await openClient()
  await client.join()
  stall('describe')
  await patch(false)
  expect(node.callsOf('changePeer')).toHaveLength(1)
  node.onCommand = () => undefined
  await patch(false)
  expect(node.callsOf('changePeer').at(-1)).toMatchObject({ connectionId, record: false })
  expect(node.callsOf('changePeer')).toHaveLength(2)
})

it.each(['join', 'rejoin'] as const)('sends a change during a %s to the node', async (method) => {
  await openClient()
  if (method === 'rejoin') await client.join()
  const release = stall('join')
  const joined = method === 'join' ? client.join() : client.request('rejoin', {})
  await until('the node has received join', () => node.callsOf('join').length > 0)
  await patch(false)
  release()
  await joined
  expect(node.callsOf('changePeer')).toMatchObject([{ connectionId, record: false }])
})

it('sends the node nothing when `record` does not change', async () => {
  await openClient()
  node.commands.length = 0
  await client.join()
  await stack.rest('PATCH', `/sessions/${sessionId}/connection/${connectionId}`, { role: 'MODERATOR' })
  expect(node.callsOf('changePeer')).toEqual([])
})
