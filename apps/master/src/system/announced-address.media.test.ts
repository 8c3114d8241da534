import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStack, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startAllNodes, useMeetings } from './fixtures/meeting.js'

let stack: Stack
let folder: string
/** Replaces the file in one step, as the kubelet does. */
function announce(address: string): void {
  writeFileSync(join(folder, 'new'), address)
  renameSync(join(folder, 'new'), join(folder, 'address'))
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'announced-'))
  announce('localhost')
  stack = await startStack({ nodes: 0 })
  await stack.addNode({
    MEDIA_NODE_ID: 'media_one',
    MEDIA_NODE_ADDRESS_SOURCES: '["file"]',
    MEDIA_NODE_ANNOUNCED_ADDRESS_FILE: join(folder, 'address'),
  })
  await startAllNodes(stack)
})
afterAll(async () => {
  await stack.stop()
  rmSync(folder, { recursive: true, force: true })
})
const meeting = useMeetings(() => stack)

/** The addresses of the candidates that a new participant of the session gets. */
async function candidatesIn(sessionId: string): Promise<string[]> {
  const { token } = await stack.api.createConnection(sessionId)
  const client = await stack.openSocket(token ?? '')
  const { sendTransport, recvTransport } = await client.join()
  await client.close()
  return [...new Set([sendTransport, recvTransport].flatMap((one) => one.iceCandidates.map(({ address }) => address)))]
}

it('clients reach a media node at the address in its file; after a change new ones do so at the new address', async () => {
  const met = await meeting()
  expect(await candidatesIn(met.id)).toEqual(['localhost'])
  expect((await stack.api.getMediaNode('media_one')).ip).toBe('localhost')

  announce('127.0.0.1')
  await until(
    'the REST API shows the new address',
    async () => (await stack.api.getMediaNode('media_one')).ip === '127.0.0.1',
  )
  expect(await candidatesIn(met.id)).toEqual(['127.0.0.1'])
  const packets = () => met.watched.map((each) => each.stats().video?.packets ?? 0)
  const before = packets()
  await until('media of earlier clients continues', () =>
    packets().every((count, at) => count > (before[at] ?? 0) + 20),
  )
  await meeting()
})
