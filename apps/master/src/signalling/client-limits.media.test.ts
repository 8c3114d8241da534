/** @quiet It measures response times under load. */
import { request } from 'node:http'
import { CLOSE_CODE, SIGNALLING_LIMITS } from '@session-service/contract'
import {
  budgetMs,
  calmMs,
  freePorts,
  heapInUse,
  inspectable,
  loopLagMs,
  SignallingClient,
  SignallingError,
  startStack,
  type Stack,
  until,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const RECIPIENTS = 25
/** The variation of the heap size without a leak. */
const HEAP_NOISE_BYTES = 16 * 1024 * 1024

const FLOOD = 10_000
/** The limit of another client's response time and of the event loop delay while one client floods the server, ms. */
const SERVED_MS = 2_000
const LAG_MS = 1_000

let stack: Stack
let inspector: number
let id: string
let bystanders: SignallingClient[]

beforeAll(async () => {
  inspector = (await freePorts(1))[0] ?? 0
  stack = await startStack({ masterEnv: inspectable(inspector) })
  id = (await stack.api.createSession()).id
  bystanders = []
  for (let n = 1; n < RECIPIENTS; n++) bystanders.push(await stack.join(id, { role: 'SUBSCRIBER' }))
})
afterAll(() => stack.stop())

const joinedClient = async () => {
  const { token } = await stack.api.createConnection(id, { role: 'SUBSCRIBER' })
  const client = await stack.openSocket(token ?? '')
  const { connectionId } = await client.join()
  return { client, connectionId }
}

/** The error codes of the refused calls. */
async function refusals(calls: readonly Promise<unknown>[]): Promise<string[]> {
  const outcomes = await Promise.allSettled(calls)
  return outcomes.flatMap((outcome) => {
    if (outcome.status === 'fulfilled') return []
    return outcome.reason instanceof SignallingError ? outcome.reason.code : String(outcome.reason)
  })
}

describe('signals of one client', () => {
  it('reach a repeated recipient once, and have a limited number of recipients', async () => {
    const { client, connectionId } = await joinedClient()
    const named = (count: number): string[] => Array.from({ length: count }, () => connectionId)
    await client.request('signal', { to: named(SIGNALLING_LIMITS.signalRecipients), data: 'same' })
    const tooMany = client.request('signal', { to: named(SIGNALLING_LIMITS.signalRecipients + 1), data: 'more' })
    await expect(tooMany).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining('to:') })
    await client.request('signal', { to: [connectionId], data: 'end' })
    await client.waitFor('signal', ({ data }) => data === 'end')
    expect(client.received('signal').map(({ data }) => data)).toEqual(['same', 'end'])
    await client.request('leave', {})
  })

  it('are refused with RATE_LIMITED beyond the budget of bytes times recipients; the socket stays', async () => {
    const { client } = await joinedClient()
    const { burst, perSecond } = SIGNALLING_LIMITS.deliveries
    const data = 'x'.repeat(65_536)
    const cost = (data.length + SIGNALLING_LIMITS.deliveryOverhead) * RECIPIENTS
    const received = bystanders[0]?.received('signal').length ?? 0
    const startedAt = performance.now()
    const refused = await refusals(Array.from({ length: 40 }, () => client.request('signal', { data })))
    const seconds = (performance.now() - startedAt) / 1_000
    const accepted = 40 - refused.length
    expect(new Set(refused)).toEqual(new Set(['RATE_LIMITED']))
    expect(accepted).toBeGreaterThanOrEqual(Math.floor(burst / cost))
    expect(accepted).toBeLessThanOrEqual((burst + perSecond * seconds) / cost)
    await until('the budget allows a short signal again', () =>
      client.request('signal', { data: 'end' }).then(
        () => true,
        () => false,
      ),
    )
    for (const each of bystanders) await each.waitFor('signal', (signal) => signal.data === 'end')
    expect(bystanders[0]?.received('signal').length).toBe(received + accepted + 1)
    await client.request('leave', {})
  })
})

describe('a client that floods the server', () => {
  it('is closed beyond its budget of calls, and others are served meanwhile', async () => {
    const { client } = await joinedClient()
    const { burst, perSecond } = SIGNALLING_LIMITS.calls
    const [startedAt, calmStart] = [performance.now(), calmMs()]
    for (let nth = 0; nth < FLOOD; nth++)
      client.sendRaw({ jsonrpc: '2.0', id: `flood_${nth}`, method: 'unsubscribe', params: { streamId: 'str_none' } })
    const [bystander] = bystanders
    await bystander?.request('signal', { data: 'during the flood' })
    const servedMs = calmMs() - calmStart
    expect(await client.closed).toEqual({ code: CLOSE_CODE.abuse, reason: 'too many calls' })
    const seconds = (performance.now() - startedAt) / 1_000
    const [master] = stack.masters
    const lag = master ? await loopLagMs(master) : Number.NaN
    console.info(
      `${client.unmatched.length} calls answered, another client after ${servedMs | 0} ms, loop ${lag | 0} ms`,
    )
    expect(client.unmatched.length).toBeLessThanOrEqual(burst + perSecond * seconds)
    expect(servedMs).toBeLessThan(SERVED_MS)
    expect(lag).toBeLessThan(budgetMs(LAG_MS))
    expect(bystanders.every(({ isOpen }) => isOpen)).toBe(true)
  })

  it('is closed beyond its budget of bytes, and leaves no memory behind', async () => {
    const before = await heapInUse(inspector)
    const to = Array.from({ length: 10_000 }, () => 'con_flood')
    for (let round = 0; round < 3; round++) {
      const { client, connectionId } = await joinedClient()
      const calls = Array.from({ length: 60 }, () => client.requestRaw('signal', { to, data: 'x' }))
      await refusals(calls)
      expect(await client.closed).toEqual({ code: CLOSE_CODE.abuse, reason: 'too many bytes' })
      await stack.api.deleteConnection(id, connectionId)
    }
    await until('the heap is back at its size', async () => (await heapInUse(inspector)) < before + HEAP_NOISE_BYTES)
    expect(bystanders.every(({ isOpen }) => isOpen)).toBe(true)
  })

  it('does not fill the log with publications that the media node refuses', async () => {
    const { token } = await stack.api.createConnection(id, { role: 'PUBLISHER' })
    const client = await stack.openSocket(token ?? '')
    await client.join()
    const codecs = [{ mimeType: 'audio/opus', payloadType: 111, clockRate: 48_000, channels: 2 }]
    const tracks = [{ kind: 'audio', rtpParameters: { codecs, encodings: [{ ssrc: 5 }] } }]
    await client.requestRaw('publish', { tracks })
    const lines = stack.journal.lines.length
    const refused = await refusals(Array.from({ length: 20 }, () => client.requestRaw('publish', { tracks })))
    expect(refused).toEqual(Array.from({ length: 20 }, () => 'INVALID'))
    expect(stack.journal.lines.slice(lines).filter((line) => line.includes('"level":"warn"'))).toEqual([])
    await client.request('leave', {})
  })
})

describe('sockets that have not joined', () => {
  it.each([
    ['joins', () => ({ method: 'join', params: { token: 'tok_wrong' } })],
    ['resumptions', () => ({ method: 'resume', params: { connectionId: 'con_wrong', resumeKey: 'x' } })],
  ])('are closed after five failed %s', async (_, call) => {
    const { token } = await stack.api.createConnection(id)
    const client = await stack.openSocket(token ?? '')
    const { method, params } = call()
    for (let n = 0; n < SIGNALLING_LIMITS.failedJoins; n++) {
      await expect(client.requestRaw(method, params)).rejects.toBeInstanceOf(SignallingError)
    }
    expect(await client.closed).toEqual({ code: CLOSE_CODE.abuse, reason: 'too many failed joins' })
  })

  it('are limited per source; sockets that have joined do not count', async () => {
    const { token } = await stack.api.createConnection(id)
    const open: SignallingClient[] = []
    let status = 101
    while (status === 101 && open.length < 1_000) {
      const client = await stack.openSocket(token ?? '').catch(() => undefined)
      if (client) open.push(client)
      else status = await upgradeStatus(token ?? '')
    }
    expect(status).toBe(429)
    // Other tests may have left some that are still open.
    expect(open.length).toBeGreaterThan(SIGNALLING_LIMITS.unjoinedSockets.source / 2)
    expect(open.filter(({ isOpen }) => isOpen).length).toBeLessThanOrEqual(SIGNALLING_LIMITS.unjoinedSockets.source)
    await open.pop()?.join()
    const { client } = await joinedClient()
    await client.request('leave', {})
    for (const each of open) each.terminate()
  })
})

/** The HTTP status of a refused upgrade. */
function upgradeStatus(token: string): Promise<number> {
  const url = new URL(token.replace(/^ws/, 'http'))
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
  }
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers })
    sent.on('response', (answer) => (answer.resume(), resolve(answer.statusCode ?? 0)))
    sent.on('upgrade', (_, socket) => (socket.destroy(), resolve(101)))
    sent.on('error', reject)
    sent.end()
  })
}
