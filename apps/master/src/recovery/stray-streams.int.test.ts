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

async function repairs(): Promise<Record<string, number>> {
  const text = await (await fetch(`${stack.masters[0]?.opsUrl}/metrics`)).text()
  const counts = text.matchAll(/reconciler_repairs_total\{kind="(\w+)"\} (\d+)/g)
  return Object.fromEntries([...counts].map(([, kind = '', count]) => [kind, Number(count)]))
}

async function publish(client: SignallingClient): Promise<string> {
  return (await client.request('publish', { tracks: [SILENT_TRACK] })).streamId
}

it('ends streams after a publish timeout, a failed unpublish, or the loss of their rows, of which clients know, and counts what it repairs', async () => {
  const { id } = await stack.api.createSession()
  const alice = await stack.join(id)
  const [bob, other] = [await stack.api.createConnection(id), await stack.api.createSession()]
  await (await stack.openSocket(bob.token ?? '')).join()
  await stack.join(other.id)
  const [kept, ended, forgotten] = [await publish(alice), await publish(alice), await publish(alice)]
  const { promise: stalled, resolve: release } = Promise.withResolvers<void>()
  node.onCommand = (command) => {
    if (command === 'unpublish') throw new Error('not now')
    return command === 'publish' ? stalled : undefined
  }
  const { status } = await stack.rest('DELETE', `/sessions/${id}/stream/${ended}`)
  expect([status, streamsOf('unpublish')]).toEqual([204, [ended]])
  await expect(publish(alice)).rejects.toMatchObject({ code: 'TIMEOUT' })
  const unanswered = streamsOf('publish').find((streamId) => ![kept, ended, forgotten].includes(String(streamId)))
  await until('the node is asked to unpublish the stream', () => streamsOf('unpublish').includes(unanswered))
  node.onCommand = () => undefined
  node.commands.length = 0
  release()
  // As after a failover of the database without its last commits.
  await stack.postgres.query('DELETE FROM stream WHERE id = $1', [forgotten])
  await stack.postgres.query('DELETE FROM connection WHERE id = $1', [bob.id])
  await stack.postgres.query('DELETE FROM session WHERE id = $1', [other.id])
  await until(
    'the node is asked to unpublish all of them',
    () => [ended, unanswered, forgotten].every((streamId) => streamsOf('unpublish').includes(streamId)),
    RECONCILED_MS,
  )
  const isForgotten = ({ streamId }: { streamId: string }): boolean => streamId === forgotten
  expect(await alice.waitFor('streamDestroyed', isForgotten)).toMatchObject({ reason: 'mediaServerDisconnect' })
  expect(streamsOf('unpublish')).not.toContain(kept)
  expect(await repairs()).toEqual({ room: 1, participant: 1, stream: 3, camera: 0 })
  await alice.request('leave', {})
})
