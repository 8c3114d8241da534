import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SIGNALLING_PATH } from '@session-service/contract'
import { startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { mmdb } from './location/fixtures/mmdb.js'

const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/154.0.0.0 Safari/537.36'
const CUSTOM = [{ url: 'turn:own.example:443', username: 'u', credential: 'c' }, { url: 'stun:own.example' }]
const folder = mkdtempSync(join(tmpdir(), 'location-'))
let stack: Stack

beforeAll(async () => {
  const file = join(folder, 'city.mmdb')
  writeFileSync(file, mmdb({ '192.0.2.7': { city: { names: { en: 'Madrid' } }, country: { names: { en: 'Spain' } } } }))
  stack = await startStack({
    masterEnv: {
      SERVICE_GEOIP_DATABASE: file,
      SERVICE_TRUSTED_PROXIES: '["127.0.0.1","10.0.0.0/8"]',
      SERVICE_WEBRTC_ICE_SERVERS: '["url=turn:all.example,staticAuthSecret=not-for-clients"]',
    },
  })
  await stack.api.createSession({ customSessionId: 'room' })
})
afterAll(async () => {
  await stack?.stop()
  rmSync(folder, { recursive: true })
})

/** Joins like a browser and returns the answer, and the connection in the REST API. */
async function joinAs(headers: Record<string, string>, customIceServers: typeof CUSTOM | [] = []) {
  const { id, token } = await stack.api.createConnection('room', { customIceServers: [...customIceServers] })
  const url = new URL(token ?? '')
  const address = `${stack.masterUrl.replace('http', 'ws')}${SIGNALLING_PATH}${url.search}`
  const socket = new WebSocket(address, { headers })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const answer = new Promise<string>((resolve) =>
    socket.once('message', (data) => resolve((data as Buffer).toString())),
  )
  const params = { token: url.searchParams.get('token') }
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'join', params }))
  const { result } = JSON.parse(await answer) as { result: { iceServers: { url: string; username?: string }[] } }
  return { socket, result, connection: await stack.api.getConnection('room', id) }
}

describe('a client that joins', () => {
  it.each([
    ['behind a trusted proxy', { 'x-forwarded-for': '192.0.2.7' }, '192.0.2.7', 'Madrid, Spain'],
    ['behind several trusted proxies', { 'x-forwarded-for': '192.0.2.7, 10.1.2.3' }, '192.0.2.7', 'Madrid, Spain'],
    ['with a forged first address', { 'x-forwarded-for': '192.0.2.7, 203.0.113.9' }, '203.0.113.9', 'unknown'],
    ['without a proxy', {}, '127.0.0.1', 'unknown'],
  ])('%s has its address, location and platform in the REST API', async (_, headers, ip, location) => {
    const { socket, connection } = await joinAs({ 'user-agent': CHROME, ...headers })
    expect(connection).toMatchObject({ status: 'active', ip, location, platform: 'Chrome 154.0.0.0 on Linux' })
    socket.terminate()
  })

  it('gets the configured ICE servers with its own credentials', async () => {
    const { socket, result } = await joinAs({})
    expect(result.iceServers).toEqual([
      { url: 'turn:all.example', username: expect.stringMatching(/^\d+:\w{8}$/), credential: expect.any(String) },
    ])
    expect(JSON.stringify(result)).not.toContain('not-for-clients')
    socket.terminate()
  })

  it('gets the ICE servers of its connection instead of the configured ones', async () => {
    const { socket, result, connection } = await joinAs({}, CUSTOM)
    expect(result.iceServers).toEqual(CUSTOM)
    expect(connection.customIceServers).toEqual(CUSTOM)
    socket.terminate()
  })
})
