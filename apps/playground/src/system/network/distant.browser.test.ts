import type * as Client from '@session-service/client'
import { launchBrowser, type Stack, startStack, TcpProxy, type TestBrowser, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { keepPeerConnections } from '../../fixtures/peer-connections.js'

/** Half a round trip, ms; a socket opens after two. */
const DISTANT = { delayMs: 25, connectMs: 50 }

let stack: Stack
let browser: TestBrowser
let proxy: TcpProxy

beforeAll(async () => {
  ;[stack, browser] = await Promise.all([startStack(), launchBrowser()])
  const { hostname: host, port } = new URL(stack.masterUrl)
  proxy = await TcpProxy.open({ host, port: Number(port) })
  proxy.mode = DISTANT
  await keepPeerConnections(browser.context)
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await proxy?.close()
  await stack?.stop()
})

interface Participant {
  session: Client.Session
  events: string[]
}
declare global {
  interface Window {
    distant: Participant
  }
}

/** A page that joins over the slow line, publishes, and subscribes to the others. */
async function join(sessionId: string): Promise<Page> {
  const page = await browser.context.newPage()
  await page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }))
  await page.goto(`${stack.masterUrl}/service/client/session-client.js`)
  const { token } = await stack.api.createConnection(sessionId, { role: 'PUBLISHER' })
  await page.evaluate(
    async (url) => {
      const client = (await import(location.href)) as typeof Client
      document.body.replaceChildren()
      const session = new client.Session()
      const events: string[] = []
      window.distant = { session, events }
      const subscribe = async ({ stream }: { stream: Client.Stream }): Promise<void> => {
        if (!stream.connection.local) (await session.subscribe(stream)).attach(document.body)
      }
      session.on('streamCreated', (event) => void subscribe(event))
      for (const name of ['reconnecting', 'reconnected', 'exception'] as const)
        session.on(name, () => void events.push(name))
      await session.connect(url)
      await Promise.all([...session.streams.values()].map((stream) => subscribe({ stream })))
      await session.publish({ audio: true, video: true })
    },
    proxy.via(token ?? ''),
  )
  return page
}

/**
 * The media that arrive of all streams of others: audio packets, pictures, and the media ids of all received tracks.
 */
const received = (page: Page): Promise<{ audio: number; pictures: number; mids: string[] }> =>
  page.evaluate(async () => {
    let [audio, pictures] = [0, 0]
    const mids: string[] = []
    for (const subscriber of window.distant.session.subscribers.values())
      for (const report of Object.values(await subscriber.getStats()))
        for (const entry of (report?.values() ?? []) as Iterable<RTCInboundRtpStreamStats & { mid: string }>) {
          if (entry.type !== 'inbound-rtp') continue
          mids.push(entry.mid)
          if (entry.kind === 'audio') audio += entry.packetsReceived ?? 0
          else pictures += entry.framesDecoded ?? 0
        }
    return { audio, pictures, mids }
  })

/** Whether the page has opened its receiving transport before it had a track for it. */
const openedEarly = (page: Page): Promise<boolean> =>
  page.evaluate(() => window.peerConnections.some((each) => /a=mid:opener/.test(each.remoteDescription?.sdp ?? '')))

async function receives(page: Page): Promise<void> {
  const before = await received(page)
  await until(
    'further audio and pictures',
    async () => {
      const { audio, pictures } = await received(page)
      return audio > before.audio + 10 && pictures > before.pictures + 10
    },
    30_000,
  )
}

it('participants far from the service receive each other, and go on after their sockets are cut', async () => {
  const { id } = await stack.api.createSession()
  const ada = await join(id)
  const grace = await join(id)
  await Promise.all([receives(ada), receives(grace)])
  for (const page of [ada, grace]) {
    expect(await openedEarly(page)).toBe(true)
    expect((await received(page)).mids).not.toContain('opener')
  }
  proxy.mode = 'reset'
  proxy.mode = DISTANT
  for (const page of [ada, grace])
    await until('it has reconnected', () => page.evaluate(() => window.distant.events.includes('reconnected')))
  await Promise.all([receives(ada), receives(grace)])
  const late = await join(id)
  await Promise.all([receives(late), receives(ada), receives(grace)])
  for (const page of [ada, grace, late])
    expect(await page.evaluate(() => window.distant.events)).not.toContain('exception')
}, 90_000)
