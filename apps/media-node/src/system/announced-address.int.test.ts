import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { freePorts, until, type AppProcess } from '@session-service/local-stack'
import { startTurnServer, type TurnServer } from '@session-service/testing'
import { failingOf, metricOf, NodeRig } from '../fixtures/node-rig.js'

const rig = NodeRig.forTests()
let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'announced-'))
  file = join(folder, 'address')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Replaces the file in one step, as the kubelet does. */
function write(address: string): void {
  writeFileSync(`${file}.new`, address)
  renameSync(`${file}.new`, file)
}
const fromFile = (): Record<string, string> => ({
  MEDIA_NODE_ADDRESS_SOURCES: '["file"]',
  MEDIA_NODE_ANNOUNCED_ADDRESS_FILE: file,
  MEDIA_NODE_ADDRESS_WAIT: '0',
})
const addressOf = (nodeId: string): string | undefined => rig.master.lastHeartbeatOf(nodeId)?.ip
/** The addresses in the candidates of a participant who joins now. */
async function candidatesOf(nodeId: string, connectionId: string): Promise<string[]> {
  const { sendTransport, recvTransport } = await rig.master.join(nodeId, 'room', connectionId)
  const candidates = [sendTransport, recvTransport].flatMap(({ iceCandidates }) => iceCandidates)
  return [...new Set(candidates.map(({ address }) => address))]
}
const isUnaddressed = async (node: AppProcess): Promise<boolean> =>
  (await failingOf(node).catch((): string[] => [])).includes('announced address')
const logs = (node: AppProcess, text: string) => () => node.lastLines.some((line) => line.includes(text))

describe('a media node without an announced address', () => {
  it('is alive, not ready and unknown to masters, says why, and registers as soon as its file has an address', async () => {
    const { node, nodeId } = await rig.launch(fromFile())
    node.ready.catch(() => undefined)
    await until('the probe names the missing address', () => isUnaddressed(node))
    expect((await fetch(`${node.opsUrl}/readyz`)).status).toBe(503)
    expect((await fetch(`${node.opsUrl}/healthz`)).status).toBe(200)
    await until('the log has the reason', logs(node, `file: ${file} does not exist`))
    expect(await metricOf(node, 'announced_address_known')).toBe(0)
    expect(rig.master.factsOf(nodeId, 'hello')).toEqual([])

    write('203.0.113.9\n')
    await node.ready
    expect(rig.master.factsOf(nodeId, 'hello')).toMatchObject([{ ip: '203.0.113.9' }])
    await until('masters see the address', () => addressOf(nodeId) === '203.0.113.9')
    expect(rig.master.lastHeartbeatOf(nodeId)?.uri).toMatch(/^ws:\/\/203\.0\.113\.9:/)
    expect(await metricOf(node, 'announced_address_known')).toBe(1)
  })

  it('ignores a file without an address', async () => {
    write('not an address')
    const { node } = await rig.launch(fromFile())
    node.ready.catch(() => undefined)
    await until('the log has the reason', logs(node, 'contains no address or host name'))
    expect(await isUnaddressed(node)).toBe(true)
    write('203.0.113.9')
    await node.ready
  })

  it('shuts down gracefully on SIGTERM', async () => {
    const { node } = await rig.launch(fromFile())
    node.ready.catch(() => undefined)
    await until('the probe names the missing address', () => isUnaddressed(node))
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
  })
})

describe('a media node with an announced address', () => {
  it('announces a new one from its file, and keeps it when the file is emptied or deleted', async () => {
    write('203.0.113.9')
    const { node, nodeId } = await rig.launchReady({ ...fromFile(), MEDIA_NODE_IP: '0.0.0.0' })
    expect(addressOf(nodeId)).toBe('203.0.113.9')
    expect(await candidatesOf(nodeId, 'first')).toEqual(['203.0.113.9'])
    write('node-3.example.org')
    await until('masters see the new address', () => addressOf(nodeId) === 'node-3.example.org')
    expect(await candidatesOf(nodeId, 'second')).toEqual(['node-3.example.org'])
    write('')
    await until('the log has the loss', logs(node, `its last one, node-3.example.org, stays: file: ${file} is empty`))
    rmSync(file)
    expect(await failingOf(node)).toEqual([])
    expect(addressOf(nodeId)).toBe('node-3.example.org')
    write('203.0.113.10')
    await until('masters see the last address', () => addressOf(nodeId) === '203.0.113.10')
  })

  it('takes a later source when an earlier one has none in time, and the earlier one once it has', async () => {
    const sources = { MEDIA_NODE_ADDRESS_SOURCES: '["file","host-ip"]', MEDIA_NODE_HOST_IP: '10.1.2.3' }
    const { nodeId } = await rig.launchReady({ ...fromFile(), ...sources })
    expect(addressOf(nodeId)).toBe('10.1.2.3')
    write('203.0.113.9')
    await until('masters see the address of the file', () => addressOf(nodeId) === '203.0.113.9')
  })
})

describe('a media node with a STUN server', () => {
  let server: TurnServer | undefined
  afterEach(async () => {
    await server?.stop()
    server = undefined
  })
  /** The server sees the address from which the node sends. */
  const fromStun = (port: number): Record<string, string> => ({
    MEDIA_NODE_IP: '127.0.0.2',
    MEDIA_NODE_ADDRESS_SOURCES: '["stun"]',
    MEDIA_NODE_STUN_SERVER: `127.0.0.1:${port}`,
  })

  it('announces the address that the server sees', async () => {
    server = await startTurnServer('secret')
    const { nodeId } = await rig.launchReady(fromStun(server.port))
    expect(addressOf(nodeId)).toBe('127.0.0.2')
  })

  it('waits for a server that does not answer, says so, and asks again', async () => {
    const [port = 0] = await freePorts(1)
    const { node, nodeId } = await rig.launch({ ...fromStun(port), MEDIA_NODE_ADDRESS_WAIT: '4' })
    node.ready.catch(() => undefined)
    await until('the log has the reason', logs(node, `stun: the answer of the STUN server 127.0.0.1:${port}`))
    expect(await isUnaddressed(node)).toBe(true)
    server = await startTurnServer('secret', { port })
    await until('masters see the address', () => addressOf(nodeId) === '127.0.0.2')
    await node.ready
  })

  it('does not ask it when an earlier source has an address', async () => {
    const asked: Buffer[] = []
    const socket = createSocket('udp4', (message) => void asked.push(message))
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const { nodeId } = await rig.launchReady({
      ...fromStun(socket.address().port),
      MEDIA_NODE_ADDRESS_SOURCES: '["value","stun"]',
      MEDIA_NODE_ANNOUNCED_ADDRESS: '203.0.113.9',
    })
    expect(addressOf(nodeId)).toBe('203.0.113.9')
    socket.close()
    expect(asked).toEqual([])
  })
})
