import { createHmac } from 'node:crypto'
import {
  launchBrowser,
  type Stack,
  startStack,
  startTurnServer,
  type TestBrowser,
  type TurnServer,
  until,
} from '@session-service/testing'
import type * as Client from '@session-service/client'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'

declare global {
  interface Window {
    relayed: Client.Session
  }
}

const SECRET = 'shared-with-coturn'
let turn: TurnServer
let stack: Stack
let browser: TestBrowser
let room = ''

beforeAll(async () => {
  turn = await startTurnServer(SECRET)
  const masterEnv = { TURN_IP: '127.0.0.1', TURN_PORT: String(turn.port), TURN_SHARED_SECRET_KEY: SECRET }
  ;[stack, browser] = await Promise.all([startStack({ masterEnv }), launchBrowser()])
})
beforeEach(async () => {
  room = (await stack.api.createSession()).id
})
afterAll(async () => {
  await browser?.close()
  await stack?.stop()
  await turn?.stop()
})

/** A page that sends media only over relays. */
async function join(customIceServers: { url: string; username: string; credential: string }[] = []): Promise<Page> {
  const page = await browser.context.newPage()
  await page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }))
  await page.goto(`${stack.masterUrl}/service/client/session-client.js`)
  const { token } = await stack.api.createConnection(room, { customIceServers })
  await page.evaluate(async (once) => {
    const client = (await import(location.href)) as typeof Client
    document.body.replaceChildren()
    const session = new client.Session({ rtcConfiguration: { iceTransportPolicy: 'relay' } })
    window.relayed = session
    await session.connect(once ?? '')
  }, token)
  return page
}

/** The candidates of the selected pair and its transferred bytes. */
const selectedPair = (page: Page, direction: 'send' | 'recv') =>
  page.evaluate(async (way) => {
    const stats = (await window.relayed.getStats())[way]
    const reports = [...stats.values()] as { id: string; type: string; [member: string]: unknown }[]
    const transport = reports.find(({ type }) => type === 'transport')
    const pair = reports.find(({ id }) => id === transport?.selectedCandidatePairId)
    const local = reports.find(({ id }) => id === pair?.localCandidateId)
    return pair && { local: local?.candidateType, sent: Number(pair.bytesSent), received: Number(pair.bytesReceived) }
  }, direction)

/** A metric of the reports of clients. */
async function reported(name: string): Promise<number> {
  const text = await (await fetch(`${stack.masters[0]?.opsUrl}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`session_service_client_${name} `))
  return Number(line?.split(' ').at(-1) ?? 0)
}

it('carries the media of clients that cannot reach a media node', async () => {
  const [sender, receiver] = [await join(), await join()]
  await sender.evaluate(async () => void (await window.relayed.publish({})))
  await receiver.waitForFunction(() => [...window.relayed.streams.values()].some(({ connection }) => !connection.local))
  await receiver.evaluate(async () => {
    const stream = [...window.relayed.streams.values()].find(({ connection }) => !connection.local)
    if (!stream) throw new Error('no stream')
    const subscriber = await window.relayed.subscribe(stream)
    const playing = new Promise((resolve) => subscriber.once('streamPlaying', resolve))
    subscriber.attach(document.body)
    await playing
  })
  const sent = await until('media over a relay at the sender', () =>
    selectedPair(sender, 'send').then((pair) => pair && pair.sent > 50_000 && pair),
  )
  const received = await until('media over a relay at the receiver', () =>
    selectedPair(receiver, 'recv').then((pair) => pair && pair.received > 50_000 && pair),
  )
  expect([sent.local, received.local]).toEqual(['relay', 'relay'])
  expect(turn.lines.join('\n')).toMatch(/user <\d+:[A-Za-z0-9]{8}>: incoming packet ALLOCATE processed, success/)
  await until(
    'both clients report the relay',
    async () => (await reported('transports_total{candidate="relay"}')) === 2,
  )
  expect(await reported('join_step_seconds_count{step="ice"}')).toBe(2)
  expect(await reported('join_step_seconds_count{step="media"}')).toBe(1)
  await Promise.all([sender.close(), receiver.close()])
})

it('opens relays with new credentials after an ICE restart', async () => {
  const users = (): string[] =>
    turn.lines.flatMap(
      (line) => /user <(\d+:\w{8})>: incoming packet ALLOCATE processed, success/.exec(line)?.[1] ?? [],
    )
  const page = await join()
  await page.evaluate(async () => void (await window.relayed.publish({})))
  await until('media over a relay', () => selectedPair(page, 'send').then((pair) => pair && pair.sent > 50_000))
  const before = users()
  await page.evaluate(() => window.relayed.restartIce())
  await until('a relay for new credentials', () => Promise.resolve(users().some((user) => !before.includes(user))))
  const sent = (await selectedPair(page, 'send'))?.sent ?? 0
  await until('media continues', () => selectedPair(page, 'send').then((pair) => pair && pair.sent !== sent))
  await page.close()
})

it('restarts ICE after the TURN server refused expired credentials, which no state of the browser shows', async () => {
  const username = `${Math.floor(Date.now() / 1000) - 60}:expired0`
  const credential = createHmac('sha1', SECRET).update(username).digest('base64')
  const page = await join([{ url: `turn:127.0.0.1:${turn.port}`, username, credential }])
  const refusals = (): number => turn.lines.filter((line) => /expired0>.*error 401/.test(line)).length
  const failed = page.evaluate(() => {
    const exception = new Promise<string>((resolve) => window.relayed.once('exception', ({ name }) => resolve(name)))
    void window.relayed.publish({ video: false }).catch(() => undefined)
    return exception
  })
  await until('the refusal of the TURN server', () => Promise.resolve(refusals() > 0))
  expect((await selectedPair(page, 'send'))?.local).toBeUndefined()
  expect(await failed).toBe('ICE_CONNECTION_FAILED')
  const before = refusals()
  await until('another attempt', () => Promise.resolve(refusals() > before))
  await page.close()
})
