import type * as Client from '@session-service/client'
import { calmMs, launchBrowser, startStack, type Stack, type TestBrowser, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { V2_PREFIX, V2Page } from '../../fixtures/v2-page.js'

const PATIENCE_MS = 60_000
/** The library notices the loss of its media after 5 s; the master then closes its socket, so that it renews the media. */
const RECOVERY_MS = 15_000

let stack: Stack
let browser: TestBrowser
let sessionId: string

beforeAll(async () => {
  ;[stack, browser] = await Promise.all([
    startStack({ masterEnv: { SERVICE_COMPAT_PREFIX: V2_PREFIX, SERVICE_RECORDING: 'true' } }),
    launchBrowser(),
  ])
}, PATIENCE_MS)
afterAll(async () => {
  await browser?.close()
  await stack?.stop()
})
beforeEach(async () => {
  sessionId = (await stack.api.createSession()).id
})
afterEach(async () => {
  for (const page of browser.context.pages().slice(1)) await page.close()
})

const open = (options: Parameters<typeof V2Page.open>[3] = {}): Promise<V2Page> =>
  V2Page.open(browser, stack, sessionId, options)

describe('two pages with the unmodified library of version 2', () => {
  it(
    'receive each other, and see replaced tracks, mutes, signals and the ends of streams',
    async () => {
      const [ada, grace] = await Promise.all([open({ name: 'ada' }), open({ name: 'grace' })])
      const adas = await ada.publish()
      const graces = await grace.publish()
      await Promise.all([ada.receives(graces), grace.receives(adas)])
      await ada.page.evaluate(async () => {
        const [camera] = (await navigator.mediaDevices.getUserMedia({ video: true })).getVideoTracks()
        if (camera) await window.v2.publisher?.replaceTrack(camera)
      })
      await grace.event(`streamPropertyChanged ${adas} videoTrack {"label":"fake_device_0"} trackReplaced`)
      await grace.receives(adas)
      await ada.page.evaluate(() => window.v2.publisher?.publishVideo(false))
      await grace.event(`streamPropertyChanged ${adas} videoActive false publishVideo`)
      // The library sends black pictures: others that subscribe now wait for pictures.
      const late = await open({ name: 'late' })
      await late.receives(adas)
      const screen = await late.publish({ videoSource: 'screen', audioSource: false })
      expect(screen).toMatch(/^str_SCR_/)
      await until('the screen', async () => (await grace.received(screen)).frames > 0, 30_000)
      await ada.page.evaluate(() => window.v2.publisher?.publishAudio(false))
      await grace.event(`streamPropertyChanged ${adas} audioActive false publishAudio`)
      await ada.page.evaluate(() => window.v2.session.signal({ type: 'chat', data: 'hi' }))
      await grace.event('signal:chat hi')
      const { connections } = await stack.api.getSession(sessionId)
      const publishing = connections.content.find(({ id }) => id === ada.connectionId)?.publishers?.[0]
      expect(publishing).toMatchObject({
        streamId: adas,
        mediaOptions: { hasAudio: true, hasVideo: true, audioActive: false, videoActive: false, typeOfVideo: 'CAMERA' },
      })
      await ada.page.evaluate(() => window.v2.publisher && window.v2.session.unpublish(window.v2.publisher))
      await grace.event(`streamDestroyed ${adas} unpublish`)
      await ada.page.evaluate(() => window.v2.session.disconnect())
      await grace.event(`connectionDestroyed ${ada.connectionId} disconnect`)
      await stack.rest('DELETE', `/service/api/sessions/${sessionId}/connection/${late.connectionId}`)
      await late.event('sessionDisconnected forceDisconnectByServer')
      await grace.event(`connectionDestroyed ${late.connectionId} forceDisconnectByServer`)
      expect((await grace.events()).filter((event) => event.startsWith('exception'))).toEqual([])
    },
    PATIENCE_MS,
  )

  it(
    'keep their media when a socket is cut, and renew it when the library says so',
    async () => {
      const [ada, grace] = await Promise.all([open(), open()])
      const adas = await ada.publish()
      const graces = await grace.publish()
      await Promise.all([ada.receives(graces), grace.receives(adas)])
      await ada.cutSockets()
      await ada.event('reconnected')
      await Promise.all([ada.receives(graces), grace.receives(adas)])
      const [fromAda, fromGrace] = [(await ada.events()).length, (await grace.events()).length]
      const [master] = stack.masters
      master?.kill('SIGKILL')
      await master?.exited
      if (master) await stack.revive(master)
      await Promise.all([ada.event('reconnected', fromAda), grace.event('reconnected', fromGrace)])
      await Promise.all([ada.receives(graces), grace.receives(adas)])
      await ada.page.evaluate(() => window.v2.session.signal({ type: 'chat', data: 'again' }))
      await grace.event('signal:chat again')
      const { peer } = await grace.received(adas)
      await ada.reconnect()
      await until('a new peer connection of the subscriber', async () => (await grace.received(adas)).peer !== peer)
      await grace.receives(adas)
      expect(
        (await stack.api.getSession(sessionId)).connections.content.flatMap((each) => each.publishers ?? []),
      ).toHaveLength(2)
      expect((await grace.events()).filter((event) => event.startsWith('streamDestroyed'))).toEqual([])
    },
    PATIENCE_MS,
  )

  it(
    'receive a stream again when publisher, subscriber and server renew it at the same time',
    async () => {
      const [ada, grace] = await Promise.all([open(), open()])
      const adas = await ada.publish()
      await grace.receives(adas)
      for (let round = 0; round < 5; round++) {
        await Promise.all([ada.reconnect(), grace.reconnect(adas)])
        await grace.receives(adas)
      }
    },
    PATIENCE_MS,
  )
})

describe('a page with the library of version 2 that does not reach the service', () => {
  it(
    'goes on after 5 s as if nothing had happened, and has left after 15 s',
    async () => {
      const [ada, grace] = await Promise.all([open(), open()])
      const adas = await ada.publish()
      await grace.receives(adas)
      await ada.goOffline()
      const since = performance.now()
      await until('5 s without the service', () => performance.now() - since >= 5_000)
      await ada.goOnline()
      await ada.event('reconnected')
      await grace.receives(adas)
      expect((await grace.events()).filter((event) => /Destroyed/.test(event))).toEqual([])
      await ada.goOffline()
      await grace.event(`streamDestroyed ${adas} networkDisconnect`)
      await grace.event(`connectionDestroyed ${ada.connectionId} networkDisconnect`)
      await ada.goOnline()
      await ada.event('sessionDisconnected networkDisconnect')
      const { connections } = await stack.api.getSession(sessionId)
      expect(connections.content.map(({ id }) => id)).toEqual([grace.connectionId])
    },
    2 * PATIENCE_MS,
  )
})

/** A page with the native library, which subscribes to all streams of others. */
async function openNative(): Promise<{ page: Page; connectionId: string }> {
  const page = await browser.context.newPage()
  await page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }))
  await page.goto(`${stack.masterUrl}/service/client/session-client.js`)
  const { id, token } = await stack.api.createConnection(sessionId, { role: 'PUBLISHER' })
  await page.evaluate(async (once) => {
    const client = (await import(location.href)) as typeof Client
    document.body.replaceChildren()
    const session = new client.Session()
    const subscribe = async ({ stream }: { stream: Client.Stream }): Promise<void> => {
      if (!stream.connection.local) (await session.subscribe(stream)).attach(document.body)
    }
    session.on('streamCreated', (event) => void subscribe(event))
    Object.assign(window, { native: session })
    await session.connect(once ?? '')
    for (const stream of session.streams.values()) await subscribe({ stream })
  }, token)
  return { page, connectionId: id }
}

const publishNative = (page: Page): Promise<string> =>
  page.evaluate(async () => {
    const session = (window as unknown as { native: Client.Session }).native
    return (await session.publish({ audio: true, video: true })).stream?.streamId ?? ''
  })

/** The frames of all streams that the page with the native library has received. */
const framesOfNative = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    const session = (window as unknown as { native: Client.Session }).native
    let frames = 0
    for (const subscriber of session.subscribers.values()) {
      const reports = [...((await subscriber.getStats()).video?.values() ?? [])] as RTCInboundRtpStreamStats[]
      frames += reports.find(({ type }) => type === 'inbound-rtp')?.framesDecoded ?? 0
    }
    return frames
  })

describe('a page with the library of version 2 beside a native one', () => {
  it(
    'receives all of its streams, moderates it, and sees what the backend does',
    async () => {
      const [moderator, native] = await Promise.all([open({ role: 'MODERATOR' }), openNative()])
      const first = await publishNative(native.page)
      const second = await publishNative(native.page)
      await Promise.all([moderator.receives(first), moderator.receives(second)])
      const own = await moderator.publish()
      await until('pictures in the native page', async () => (await framesOfNative(native.page)) > 0, 30_000)
      const recording = { session: sessionId, outputMode: 'INDIVIDUAL' }
      const { body } = await stack.rest('POST', '/service/api/recordings/start', recording)
      const { id: recordingId } = body as { id: string }
      await moderator.event(`recordingStarted ${recordingId}`)
      await stack.rest('POST', `/service/api/recordings/stop/${recordingId}`)
      await moderator.event(`recordingStopped ${recordingId}`)
      await moderator.page.evaluate((id) => {
        const { session, subscribers } = window.v2
        const stream = subscribers.get(id)?.stream
        return stream && session.forceUnpublish(stream)
      }, second)
      await moderator.event(`streamDestroyed ${second} forceUnpublishByUser`)
      await stack.api.updateConnection(sessionId, moderator.connectionId, { role: 'SUBSCRIBER' })
      await moderator.event(`connectionPropertyChanged ${moderator.connectionId} role "SUBSCRIBER"`)
      await stack.api.updateConnection(sessionId, moderator.connectionId, { role: 'MODERATOR' })
      await moderator.event(`connectionPropertyChanged ${moderator.connectionId} role "MODERATOR"`)
      await stack.rest('DELETE', `/service/api/sessions/${sessionId}/stream/${own}`)
      await moderator.event('own streamDestroyed forceUnpublishByServer')
      const { connections } = await stack.api.getSession(sessionId)
      const publishers = connections.content.find(({ id }) => id === moderator.connectionId)?.publishers
      expect(publishers).toEqual([])
      await moderator.page.evaluate((id) => {
        const connection = window.v2.session.remoteConnections.get(id)
        return connection && window.v2.session.forceDisconnect(connection)
      }, native.connectionId)
      await moderator.event(`connectionDestroyed ${native.connectionId} forceDisconnectByUser`)
      await stack.api.deleteSession(sessionId)
      await moderator.event('sessionDisconnected sessionClosedByServer')
    },
    PATIENCE_MS,
  )
})

describe('the loss of a media node', () => {
  it(
    'interrupts pages with the library of version 2 and native ones, which receive each other again under the same ids',
    async () => {
      const [ada, grace, native] = await Promise.all([open(), open(), openNative()])
      const [adas, graces] = [await ada.publish(), await grace.publish()]
      const natives = await publishNative(native.page)
      await Promise.all([ada.receives(graces), grace.receives(adas), ada.receives(natives)])
      const [node] = stack.nodes.filter(({ running }) => running)
      await stack.addNode()
      node?.kill('SIGKILL')
      await node?.exited
      const killedAt = calmMs()
      const [adasView, gracesView] = await Promise.all([ada.received(graces), grace.received(adas)])
      await until(
        'new peer connections',
        () => Promise.all([ada.requireRenewed(graces, adasView), grace.requireRenewed(adas, gracesView)]),
        3 * RECOVERY_MS,
      )
      const tookMs = calmMs() - killedAt
      console.info(`new peer connections ${(tookMs / 1_000).toFixed(1)} s after the kill`)
      expect(tookMs).toBeLessThan(RECOVERY_MS)
      await Promise.all([ada.receives(graces), grace.receives(adas), ada.receives(natives)])
      const streams = [adas, graces, natives].toSorted()
      const { connections } = await stack.api.getSession(sessionId)
      const published = connections.content.flatMap(({ publishers }) => publishers ?? [])
      expect(published.map(({ streamId }) => streamId).toSorted()).toEqual(streams)
      expect((await grace.events()).filter((event) => event.startsWith('streamDestroyed'))).toEqual([])
    },
    2 * PATIENCE_MS,
  )
})
