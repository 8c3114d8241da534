import { type SignallingClient, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { SILENT_TRACK, FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'

/** More than two intervals of the reconciler. */
const RECONCILED_MS = 60_000
jest.setTimeout(3 * RECONCILED_MS)

let stack: Stack
let node: FakeMediaNode
beforeAll(async () => {
  stack = await startStack({ nodes: 0, masters: 1 })
  node = await FakeMediaNode.start(stack.nats.url, 'fake_node')
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
})

const streamsOf = (command: 'publish' | 'unpublish'): unknown[] =>
  node.callsOf(command).map((call): unknown => Reflect.get(call, 'streamId'))

async function publish(client: SignallingClient): Promise<string> {
  return (await client.request('publish', { tracks: [SILENT_TRACK] })).streamId
}

it('unpublishes streams on the node after a publish timeout or a failed unpublish', async () => {
  const { id } = await stack.api.createSession()
  const alice = await stack.join(id)
  const [kept, ended] = [await publish(alice), await publish(alice)]
  const { promise: stalled, resolve: release } = Promise.withResolvers<void>()
  node.onCommand = (command) => {
    if (command === 'unpublish') throw new Error('not now')
    return command === 'publish' ? stalled : undefined
  }
  const { status } = await stack.rest('DELETE', `/sessions/${id}/stream/${ended}`)
  expect([status, streamsOf('unpublish')]).toEqual([204, [ended]])
  await expect(publish(alice)).rejects.toMatchObject({ code: 'TIMEOUT' })
  const unanswered = streamsOf('publish').find((streamId) => streamId !== kept && streamId !== ended)
  await until('the node is asked to unpublish the stream', () => streamsOf('unpublish').includes(unanswered))
  node.onCommand = () => undefined
  node.commands.length = 0
  release()
  await until(
    'the node is asked again to unpublish both',
    () => [ended, unanswered].every((streamId) => streamsOf('unpublish').includes(streamId)),
    RECONCILED_MS,
  )
  expect(streamsOf('unpublish')).not.toContain(kept)
  await alice.request('leave', {})
})
