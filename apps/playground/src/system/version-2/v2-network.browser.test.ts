/** @quiet It measures how a browser takes losses: a page that is short of the processor loses its connections again. */
import { until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type ProxiedStack, startProxied } from '../../fixtures/proxied-stack.js'
import { routeSdpThrough } from '../../fixtures/route-sdp-through.js'
import { V2_PREFIX, V2Page } from '../../fixtures/v2-page.js'

const PATIENCE_MS = 90_000

let service: ProxiedStack

beforeAll(async () => {
  const masterEnv = {
    SERVICE_COMPAT_PREFIX: V2_PREFIX,
    SERVICE_PRO_NETWORK_QUALITY: 'true',
    SERVICE_PRO_NETWORK_QUALITY_INTERVAL: '2',
  }
  service = await startProxied({ masterEnv }, routeSdpThrough)
}, PATIENCE_MS)
afterAll(() => service?.stop())

it(
  'pages with the library of version 2 see a bad network, and renew their media when no packet arrives, under the same ids',
  async () => {
    const { stack, browser, proxy } = service
    const { id } = await stack.api.createSession()
    const [ada, grace] = await Promise.all([V2Page.open(browser, stack, id), V2Page.open(browser, stack, id)])
    const [adas, graces] = [await ada.publish(), await grace.publish()]
    await Promise.all([ada.receives(graces), grace.receives(adas)])
    proxy.weather = { loss: 0.4, delayMs: 50 }
    await grace.event(`networkQualityLevelChanged ${ada.connectionId}`)
    proxy.weather = undefined
    const [adasView, gracesView] = await Promise.all([ada.received(graces), grace.received(adas)])
    proxy.cut()
    await Promise.all([ada, grace].map((page) => page.event('exception ICE_CONNECTION_DISCONNECTED')))
    await until(
      'the library opens new peer connections',
      () => Promise.all([ada.requireRenewed(graces, adasView), grace.requireRenewed(adas, gracesView)]),
      30_000,
    )
    proxy.heal()
    await Promise.all([ada.receives(graces), grace.receives(adas)])
    const { connections } = await stack.api.getSession(id)
    const published = connections.content.flatMap(({ publishers }) => publishers ?? [])
    expect(published.map(({ streamId }) => streamId).toSorted()).toEqual([adas, graces].toSorted())
    const ends = (await Promise.all([ada.events(), grace.events()])).flat()
    expect(ends.filter((event) => /^(stream|connection)Destroyed|^sessionDisconnected/.test(event))).toEqual([])
  },
  PATIENCE_MS,
)
