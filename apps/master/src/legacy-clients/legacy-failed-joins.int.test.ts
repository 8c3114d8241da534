import { PostgresFaults, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'
import { LegacyTestbed } from './fixtures/legacy-testbed.js'

/** A master asks one node after another, each for 1.5 s, and the sixth one for 4 s. */
const NODES = 6
/** The library gives up after this time. */
const LIBRARY_TIMEOUT_MS = 10_000
const SERVER_TIMEOUT_MS = 8_000

let testbed: LegacyTestbed
const nodes: FakeMediaNode[] = []

beforeAll(async () => {
  testbed = await LegacyTestbed.start()
  nodes.push(testbed.node)
  for (let count = 1; count < NODES; count++)
    nodes.push(await FakeMediaNode.start(testbed.stack.nats.url, `fake_node_${count}`))
})
afterEach(() => {
  for (const node of nodes) node.onCommand = () => undefined
})
afterAll(async () => {
  await testbed.stop()
  await Promise.all(nodes.map((node) => node.stop()))
})

/** A connection whose token has not been used, and a socket. */
async function joiner() {
  const { id: sessionId } = await testbed.session()
  const { id, token } = await testbed.stack.api.createConnection(sessionId)
  const client = await testbed.open(sessionId)
  const status = async () => (await testbed.stack.api.getConnection(sessionId, id)).status
  return { sessionId, id, token: token ?? '', client, status }
}

const holdersOf = (connectionId: string): string[] =>
  nodes.filter((node) => node.rooms.holds(connectionId)).map(({ nodeId }) => nodeId)

describe('a join of version 2 that takes too long', () => {
  it('is refused before the library gives up, leaves nothing behind, and can be repeated with the same token', async () => {
    const { id, token, client, status } = await joiner()
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const node of nodes) node.onCommand = (command) => (command === 'joinPerStream' ? promise : undefined)
    const startedAt = performance.now()
    await expect(client.join(token)).rejects.toMatchObject({ code: 204, message: 'joining took too long' })
    const elapsedMs = performance.now() - startedAt
    expect(elapsedMs).toBeGreaterThanOrEqual(SERVER_TIMEOUT_MS - 50)
    expect(elapsedMs).toBeLessThan(LIBRARY_TIMEOUT_MS)
    expect(client.isOpen).toBe(true)
    // The command in progress succeeds after the refusal.
    resolve()
    await until('the token is valid again', async () => (await status()) === 'pending')
    await until('no node holds the participant', () => holdersOf(id).length === 0)
    const { id: joinedAs } = await client.join(token)
    expect([joinedAs, await status(), holdersOf(id).length]).toEqual([id, 'active', 1])
    await client.call('leaveRoom', {})
    await client.close()
  }, 60_000)
})

describe('a join of version 2 that fails after the media node has answered', () => {
  it('leaves nothing behind, is not notified to others, and can be repeated with the same token', async () => {
    const { sessionId, id, token, client, status } = await joiner()
    const other = await testbed.join(sessionId)
    // The state of the session for the answer cannot be read.
    const unlock = await new PostgresFaults(testbed.stack.postgres).lock('stream')
    await expect(client.join(token)).rejects.toMatchObject({ code: 204 })
    await unlock()
    await until('the token is valid again', async () => (await status()) === 'pending')
    await until('no node holds the participant', () => holdersOf(id).length === 0)
    expect(other.client.all('participantJoined')).toEqual([])
    await client.join(token)
    expect(await other.client.notified('participantJoined')).toMatchObject({ id })
    expect(await status()).toBe('active')
    await Promise.all([client.close(), other.client.close()])
  }, 60_000)
})
