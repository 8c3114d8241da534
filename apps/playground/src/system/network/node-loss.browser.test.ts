import type { AppProcess } from '@session-service/local-stack'
import { budgetMs, until } from '@session-service/testing'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { useCall } from '../../fixtures/call.js'
import type { Tab } from '../../fixtures/tab.js'

declare global {
  interface Window {
    /** The elements before the loss, in order. */
    marked: HTMLVideoElement[]
  }
}

const COMEBACK_MS = 40_000

describe('the loss of a media node', () => {
  const call = useCall({ frames: 5, problemsExpected: true })
  let killedAt = 0

  // The session is on the only node; a second node is added afterwards.
  let victim: AppProcess
  beforeEach(() => {
    const [node] = call.stack.nodes.filter(({ running }) => running)
    if (!node) throw new Error('no media node is left')
    victim = node
  })
  // The next test starts with one node.
  afterEach(async () => {
    if (victim.running) victim.kill('SIGKILL')
    await victim.exited
  })

  const spare = (): Promise<AppProcess> => call.stack.addNode()
  const kill = (): void => {
    killedAt = Date.now()
    victim.kill('SIGKILL')
  }
  const mark = (tab: Tab): Promise<void> =>
    tab.page.evaluate(() => void (window.marked = [...document.querySelectorAll('video')]))
  /** The ids of the application's objects: connection, own streams, subscriptions. */
  const held = (tab: Tab) =>
    tab.page.evaluate(() => {
      const { session } = window.playground
      const keys = (map: ReadonlyMap<string, unknown> | undefined): string[] => [...(map?.keys() ?? [])].toSorted()
      return {
        connectionId: session?.connection?.connectionId,
        publishers: keys(session?.publishers),
        subscribers: keys(session?.subscribers),
        streams: keys(session?.streams),
      }
    })
  /** The size of the shared screen, as the tab knows it. */
  const screenSize = (tab: Tab): Promise<string> =>
    tab.page.evaluate(() => {
      const streams = [...(window.playground.session?.streams.values() ?? [])]
      const size = streams.find(({ typeOfVideo }) => typeOfVideo === 'SCREEN')?.videoDimensions
      return `${size?.width}x${size?.height}`
    })
  /** The size of the pictures that the tab captures. */
  const sharedSize = (tab: Tab): Promise<string> =>
    tab.page.evaluate(() => {
      const publishers = [...(window.playground.session?.publishers.values() ?? [])]
      const screen = publishers.find(({ typeOfVideo }) => typeOfVideo === 'SCREEN')
      const { width, height } = screen?.mediaStream.getVideoTracks()[0]?.getSettings() ?? {}
      return width === undefined ? 'unknown' : `${width}x${height}`
    })
  /** Whether the elements are unchanged and all those with video show new frames. */
  const showsAll = async (tab: Tab): Promise<void> => {
    const frames = () =>
      tab.page.evaluate(() => window.marked.map((element) => element.getVideoPlaybackQuality().totalVideoFrames))
    const before = await frames()
    await until(`new frames in all elements of ${tab.nickname}`, async () =>
      (await frames()).every((count, index) => count > (before[index] ?? 0) + 5),
    )
    expect(
      await tab.page.evaluate(() => {
        const now = [...document.querySelectorAll('video')]
        return now.length === window.marked.length && now.every((element, index) => element === window.marked[index])
      }),
    ).toBe(true)
  }
  const names = async (tab: Tab): Promise<string[]> => (await tab.events()).map(({ name }) => name)
  const comesBack = async (...tabs: Tab[]): Promise<void> => {
    await Promise.all(tabs.map((tab) => tab.event('reconnected', COMEBACK_MS)))
  }
  /** Prints the duration of each step for information. */
  const sayHowLong = (what: string): void => {
    console.log(`${what}: ${((Date.now() - killedAt) / 1_000).toFixed(1)} s after the kill`)
  }

  it('restores the media of both participants in the same elements with the same ids', async () => {
    const [ada, grace] = await call.both()
    await spare()
    await Promise.all([mark(ada), mark(grace)])
    const before = await Promise.all([held(ada), held(grace)])
    // Watched from before the loss: a quick recovery shows both for a moment only.
    const watch = { polling: 20, timeout: budgetMs(COMEBACK_MS) }
    const shown = Promise.all([
      ada.page.waitForFunction(() => document.body.innerText.includes('Reconnecting…'), undefined, watch),
      grace.page.waitForFunction(
        () => [...document.querySelectorAll('.tile.waiting')].some((tile) => tile.textContent?.includes('Ada')),
        undefined,
        watch,
      ),
    ])
    kill()
    await Promise.all([shown, ada.event('reconnecting', COMEBACK_MS)])
    sayHowLong('reconnecting was emitted')
    await comesBack(ada, grace)
    await Promise.all([ada.seesFrames(5, COMEBACK_MS), grace.seesFrames(5, COMEBACK_MS)])
    sayHowLong('both decode five more frames')
    await Promise.all([showsAll(ada), showsAll(grace)])
    const energy = await until('audio', async () => {
      const { audioEnergy } = await ada.received()
      return audioEnergy > 0 && audioEnergy
    })
    expect(energy).toBeGreaterThan(0)
    expect(await Promise.all([held(ada), held(grace)])).toEqual(before)
    for (const tab of [ada, grace]) {
      expect(await names(tab)).toEqual(['reconnecting', 'reconnected'])
      await tab.page.locator('.waiting').waitFor({ state: 'detached' })
      await tab.page.getByText('Reconnecting…').waitFor({ state: 'hidden' })
    }
  })

  it('keeps muting and a shared screen, and lets both be changed afterwards', async () => {
    const [ada, grace] = await call.both()
    await grace.page.keyboard.press('v')
    await ada.page.getByRole('button', { name: 'Share screen' }).click()
    await grace.tile('Ada’s screen').and(grace.page.locator('.playing')).waitFor()
    await ada.tile('Grace').and(ada.page.locator('.no-picture')).waitFor()
    // An unplugged microphone, whose track cannot be sent again: browsers fire the event only for such an end.
    await grace.page.evaluate(() => {
      const [microphone] = window.playground.publisher?.mediaStream.getAudioTracks() ?? []
      microphone?.stop()
      microphone?.dispatchEvent(new Event('ended'))
    })
    await ada.tile('Grace').and(ada.page.locator('.muted')).waitFor()
    await spare()
    const before = await Promise.all([held(ada), held(grace)])
    // Known with the publication, or by an event after it.
    for (const tab of [ada, grace])
      await until('the size of the screen is known', async () => (await screenSize(tab)) === (await sharedSize(ada)))
    await Promise.all([ada.forget(), grace.forget()])
    kill()
    await comesBack(ada, grace)
    await grace.seesFrames(10, COMEBACK_MS)
    await grace.page.locator('.waiting').waitFor({ state: 'detached' })
    await ada.page.locator('.waiting').waitFor({ state: 'detached' })
    expect(await Promise.all([held(ada), held(grace)])).toEqual(before)
    await ada.tile('Grace').and(ada.page.locator('.no-picture')).waitFor()
    for (const tab of [ada, grace]) expect(await names(tab)).toEqual(['reconnecting', 'reconnected'])
    await grace.page.keyboard.press('v')
    await ada.seesFrames(10)
    expect((await ada.received()).audioEnergy).toBe(0)
    await grace.page.evaluate(() => window.playground.publisher?.useDevice('audio', 'default'))
    await until('the sound of another microphone', async () => (await ada.received()).audioEnergy > 0)
    await ada.page.getByRole('button', { name: 'Stop sharing' }).click()
    await grace.tile('Ada’s screen').waitFor({ state: 'detached' })
  })

  it('applies muting, a loss of the socket and a departure during the loss', async () => {
    const [ada, grace] = await call.both()
    const alan = await call.join('Alan')
    await Promise.all([ada, grace].map((tab) => tab.tile('Alan').and(tab.page.locator('.playing')).waitFor()))
    await Promise.all([ada.forget(), grace.forget()])
    const alansId = await alan.connectionId
    kill()
    await ada.event('reconnecting', COMEBACK_MS)
    await ada.page.keyboard.press('m')
    await grace.page.evaluate(() => window.playground.session?.dropSocket())
    await alan.leave()
    await spare()
    await comesBack(ada, grace)
    await Promise.all([ada.seesFrames(5, COMEBACK_MS), grace.seesFrames(5, COMEBACK_MS)])
    await grace.tile('Ada').locator('.badge-muted').waitFor({ state: 'visible' })
    for (const tab of [ada, grace]) {
      expect(await tab.events('connectionDestroyed')).toEqual([
        { name: 'connectionDestroyed', id: alansId, reason: 'disconnect' },
      ])
      const told = await names(tab)
      expect(told.filter((name) => name.startsWith('reconnect'))).toEqual(['reconnecting', 'reconnected'])
      expect(told.filter((name) => name === 'streamDestroyed')).toHaveLength(1)
      expect(told).not.toContain('exception')
    }
  })
})
