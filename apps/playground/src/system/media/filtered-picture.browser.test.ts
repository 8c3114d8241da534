import { descendantsOf, killFamily, until } from '@session-service/testing'
import { describe, expect, it } from '@jest/globals'
import { useCall } from '../../fixtures/call.js'
import type { Tab } from '../../fixtures/tab.js'

const COMEBACK_MS = 60_000
/** The average share of red, 0 to 1, of pixels of the badge, which is red. */
const RED = 0.6

describe('a filter that the playground applies', () => {
  const call = useCall({ frames: 3, problemsExpected: true })

  /** The share of red in the middle of the badge of the only received picture, without the white word. */
  const redness = ({ page }: Tab): Promise<number> =>
    page.evaluate(() => {
      const [subscriber] = window.playground.session?.subscribers.values() ?? []
      const [video] = subscriber?.videos ?? []
      const canvas = document.createElement('canvas')
      const context = canvas.getContext('2d')
      if (!video || !context || video.videoWidth === 0) return 0
      ;[canvas.width, canvas.height] = [video.videoWidth, video.videoHeight]
      context.drawImage(video, 0, 0)
      const { width, height } = canvas
      // The badge begins at 78 % of the width and 6 % of the height.
      const area = context.getImageData(width * 0.785, height * 0.08, Math.max(width * 0.015, 1), height * 0.08)
      let [red, all] = [0, 0]
      for (let at = 0; at < area.data.length; at += 4) {
        const [r = 0, g = 0, b = 0] = area.data.slice(at, at + 3)
        red += r
        all += r + g + b
      }
      return red / Math.max(all, 1)
    })
  const shows = (tab: Tab, isBadge: boolean): Promise<unknown> =>
    until(
      `${tab.nickname} sees the picture ${isBadge ? 'with' : 'without'} the badge`,
      async () => (await redness(tab)) > RED === isBadge,
      COMEBACK_MS,
    )
  const programsOf = ({ pid }: { pid: number }) =>
    descendantsOf(pid).filter(({ command }) => command.includes('media-processor'))
  const choose = ({ page }: Tab, label: string): Promise<unknown> =>
    page.getByRole('combobox', { name: 'Filter' }).selectOption(label)

  it('is seen by the other participant, ends, fails, and survives the loss of the media node', async () => {
    const [ada, grace] = await call.both()
    await shows(grace, false)
    await choose(ada, 'Badge')
    await shows(grace, true)
    await choose(ada, 'No filter')
    await shows(grace, false)

    await choose(ada, 'Badge')
    await shows(grace, true)
    const [node] = call.stack.nodes
    if (!node) throw new Error('no media node')
    // The program of the former filter may still be ending.
    expect(programsOf(node)).not.toEqual([])
    for (const program of programsOf(node)) killFamily(program)
    await shows(grace, false)
    const failed = (tab: Tab) => tab.events('streamPropertyChanged').then((all) => all.map(({ reason }) => reason))
    for (const tab of [ada, grace])
      await until('the failure', async () => (await failed(tab)).includes('filterFailed'), COMEBACK_MS)
    const menu = ada.page.getByRole('combobox', { name: 'Filter' })
    await until('the menu shows no filter', async () => (await menu.inputValue()) === '')

    await choose(ada, 'Badge')
    await shows(grace, true)
    const next = await call.stack.addNode()
    node.kill('SIGKILL')
    await Promise.all([ada.event('reconnected', COMEBACK_MS), grace.event('reconnected', COMEBACK_MS)])
    await until('the filter runs on the other node', () => programsOf(next).length > 0, COMEBACK_MS)
    await shows(grace, true)
    expect(await menu.inputValue()).toBe('ImageOverlayFilter')
    await choose(ada, 'No filter')
    await shows(grace, false)
  }, 240_000)
})
