/** @quiet A browser that is short of the processor loses more packets than the network does. */
import { until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { keepPeerConnections, receivedTracks } from '../../fixtures/peer-connections.js'
import { type ProxiedStack, startProxied } from '../../fixtures/proxied-stack.js'
import { Tab } from '../../fixtures/tab.js'
import type { UdpProxy } from '../../fixtures/udp-proxy.js'

const STORM = { loss: 0.2, delayMs: 150 }

describe('media over a bad network', () => {
  let service: ProxiedStack
  let proxy: UdpProxy

  beforeAll(async () => {
    const masterEnv = { SERVICE_PRO_NETWORK_QUALITY: 'true', SERVICE_PRO_NETWORK_QUALITY_INTERVAL: '2' }
    service = await startProxied({ playground: true, masterEnv })
    proxy = service.proxy
    await keepPeerConnections(service.browser.context)
  })
  afterAll(() => service?.stop())

  const join = (session: string, name: string): Promise<Tab> =>
    Tab.join(service.browser.context, service.stack.playgroundUrl ?? '', session, name)

  it('reports blocked media, and recovers from another port without disconnecting anyone', async () => {
    const [ada, grace] = [await join('tea', 'Ada'), await join('tea', 'Grace')]
    await Promise.all([ada.seesFrames(10), grace.seesFrames(10)])
    await Promise.all([ada.forget(), grace.forget()])
    proxy.cut()
    await Promise.all([ada, grace].map((tab) => tab.event('exception', 20_000)))
    await until('no further frames', async () => {
      const before = (await ada.received()).framesDecoded
      await new Promise((resolve) => setTimeout(resolve, 500))
      return (await ada.received()).framesDecoded === before
    })
    proxy.heal()
    await Promise.all([ada.seesFrames(20, 30_000), grace.seesFrames(20, 30_000)])
    for (const tab of [ada, grace]) {
      const told = await tab.events()
      expect(new Set(told.map(({ name }) => name))).toEqual(new Set(['exception']))
      for (const { reason } of told) expect(reason).toMatch(/^ICE_CONNECTION_(DISCONNECTED|FAILED)$/)
    }
    await Promise.all([ada.leave(), grace.leave()])
  })

  it('survives a loss of a fifth of the packets and a delay without any event', async () => {
    // The worker probes a new transport at once: with a delay, the page already has a track for the probes.
    proxy.weather = { ...STORM, loss: 0 }
    const [ada, grace] = [await join('storm', 'Ada'), await join('storm', 'Grace')]
    const networkOf = (tab: Tab, name: string): Promise<string | null> =>
      tab
        .tile(name)
        .locator('.network:not([hidden])')
        .getAttribute('aria-label', { timeout: 1_000 })
        .catch(() => null)
    const eachSees = async (words: RegExp | undefined): Promise<boolean> => {
      const seen = await Promise.all([networkOf(ada, 'Grace'), networkOf(grace, 'Ada')])
      return seen.every((text) => (words ? text !== null && words.test(text) : text === null))
    }
    const calm = await Promise.all([ada.seesFrames(10), grace.seesFrames(10)])
    await Promise.all([receivesProbe(ada), receivesProbe(grace)])
    await Promise.all([ada.forget(), grace.forget()])
    proxy.weather = STORM
    const storm = await Promise.all([ada.seesFrames(60, 60_000), grace.seesFrames(60, 60_000)])
    for (const [nth, { repairsAsked }] of storm.entries())
      expect(repairsAsked).toBeGreaterThan(calm[nth]?.repairsAsked ?? 0)
    await until('each sees the poor network of the other', () => eachSees(/(very )?poor network/), 30_000)
    await Promise.all([neverRequestsProbes(ada), neverRequestsProbes(grace)])
    proxy.weather = undefined
    await until('each sees that the network is good again', () => eachSees(undefined), 30_000)
    await Promise.all([ada.seesFrames(20), grace.seesFrames(20)])
    for (const tab of [ada, grace]) expect(await tab.events()).toEqual([])
  }, 120_000)

  it('never requests the lost probes of the worker, which probes each new transport', async () => {
    proxy.weather = STORM
    const tabs = [await join('gale', 'Ada'), await join('gale', 'Grace')]
    await Promise.all(tabs.map((tab) => tab.seesFrames(20, 60_000)))
    await Promise.all(tabs.map(receivesProbe))
    await Promise.all(tabs.map(neverRequestsProbes))
    proxy.weather = undefined
  }, 120_000)
})

const probesIn = async ({ page }: Tab) => (await receivedTracks(page)).filter(({ mid }) => mid === 'probator')

const receivesProbe = (tab: Tab) =>
  until(`${tab.nickname} has received a probe`, async () => (await probesIn(tab)).length > 0, 30_000)

async function neverRequestsProbes(tab: Tab): Promise<void> {
  const requestsVideo = async () =>
    (await receivedTracks(tab.page)).some(({ kind, nackCount = 0 }) => kind === 'video' && nackCount > 0)
  await until(`${tab.nickname} has requested lost video`, requestsVideo, 30_000)
  const probes = await probesIn(tab)
  expect(probes.length).toBe(1)
  expect(probes[0]).toMatchObject({ packetsReceived: expect.any(Number), nackCount: 0 })
}
