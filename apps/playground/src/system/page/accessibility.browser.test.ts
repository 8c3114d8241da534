import { until, violationsOf } from '@session-service/testing'
import { describe, expect, it } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { useCall } from '../../fixtures/call.js'
import { controlsIn } from '../../fixtures/measures.js'
import type { Tab } from '../../fixtures/tab.js'

const TARGET_PX = 44
const BORDER_CONTRAST = 3
const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }
const SMALL_PHONE = { width: 320, height: 568 }
const LOW_PHONE = { width: 375, height: 667 }
const PHONE_ON_ITS_SIDE = { width: 844, height: 390 }
const VIEWPORTS = [DESKTOP, PHONE, SMALL_PHONE, PHONE_ON_ITS_SIDE]

/** The accessible name of the focused element. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '')

async function expectOperable(page: Page): Promise<void> {
  for (const viewport of VIEWPORTS) {
    await page.setViewportSize(viewport)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      const controls = await controlsIn(page.locator('body'))
      expect(controls.length).toBeGreaterThan(3)
      const tooSmall = controls.filter(({ width, height }) => Math.min(width, height) < TARGET_PX)
      const tooFaint = controls.filter(({ contrast }) => contrast < BORDER_CONTRAST)
      expect({ viewport, colorScheme, tooSmall, tooFaint }).toEqual({
        viewport,
        colorScheme,
        tooSmall: [],
        tooFaint: [],
      })
      // The page does not scroll horizontally.
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(viewport.width)
    }
  }
  await page.setViewportSize(DESKTOP)
}

/** Throws for an invisible element. */
async function boxOf(locator: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await locator.boundingBox()
  if (!box) throw new Error('the element is not visible')
  return box
}

describe('the playground for every user', () => {
  const call = useCall({ frames: 3 })
  /** Brings Ada's page to the front, because a background page has no layout and no transitions. */
  const twoPeople = async (): Promise<readonly [Tab, Tab]> => {
    const [ada, grace] = await call.both()
    await ada.page.bringToFront()
    return [ada, grace]
  }

  it('introduces itself on the start page, with targets of at least 44 px and borders with a contrast of 3:1', async () => {
    const page = await call.browser.context.newPage()
    await page.goto(`${call.stack.playgroundUrl}/?session=start`)
    await page.getByRole('heading', { level: 1, name: 'Video call playground' }).waitFor()
    await page.getByText('A demonstration of Session Service').waitFor()
    await expectOperable(page)
  })

  it('has targets of at least 44 px and borders with a contrast of 3:1 in a session, with chat and dialog', async () => {
    const [ada] = await twoPeople()
    await ada.page.keyboard.press('c')
    await expectOperable(ada.page)
    await ada.page.getByRole('button', { name: 'Devices' }).click()
    await expectOperable(ada.page)
  }, 180_000)

  it('moves focus to the name of the session after joining, and back into the form after leaving', async () => {
    const page = await call.browser.context.newPage()
    await page.goto(`${call.stack.playgroundUrl}/?session=focus&nickname=Ada`)
    await page.getByRole('button', { name: 'Join session' }).press('Enter')
    await page.waitForFunction(() => window.playground.publisher?.published === true)
    expect(await focused(page)).toBe('focus')
    await page.getByText('1 person', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Leave session' }).press('Enter')
    await until('focus on the way back', async () => (await focused(page)) === 'Join again')
    await page.keyboard.press('Enter')
    expect(await focused(page)).toBe('Join session')
  })

  it('moves focus to the button again when joining fails', async () => {
    const page = await call.browser.context.newPage()
    await page.route('**/api/connection', (route) => route.fulfill({ status: 200, json: { token: 'unusable' } }))
    await page.goto(`${call.stack.playgroundUrl}/?session=refused&nickname=Ada`)
    await page.getByRole('button', { name: 'Join session' }).press('Enter')
    await page.getByRole('alert').waitFor()
    expect(await focused(page)).toBe('Join session')
  })

  it('moves focus in the toolbar with arrow keys, and the Tab key reaches it once', async () => {
    const [{ page }] = await twoPeople()
    const toolbar = page.getByRole('toolbar', { name: 'Controls' })
    const buttons = await toolbar
      .getByRole('button')
      .evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => one.getAttribute('aria-label')))
    const stops = (): Promise<number> => toolbar.locator('button[tabindex="0"]:visible').count()
    expect([buttons.length > 4, await stops()]).toEqual([true, 1])
    await toolbar.getByRole('button').first().focus()
    const visited: string[] = []
    for (const _ of buttons) {
      visited.push(await focused(page))
      await page.keyboard.press('ArrowRight')
    }
    expect(visited).toEqual(buttons)
    expect(await focused(page)).toBe(buttons[0])
    await page.keyboard.press('End')
    expect(await focused(page)).toBe('Leave session')
    await page.keyboard.press('ArrowLeft')
    expect(await focused(page)).toBe('Devices')
    // Tab leaves the toolbar and returns to the same button.
    await page.keyboard.press('Shift+Tab')
    expect(buttons).not.toContain(await focused(page))
    await page.keyboard.press('Tab')
    expect([await focused(page), await stops()]).toEqual(['Devices', 1])
  })

  it('exposes the state of its panels', async () => {
    const [{ page }] = await twoPeople()
    const expanded = (name: string): Promise<string | null> =>
      page.getByRole('button', { name, includeHidden: true }).getAttribute('aria-expanded')
    expect([await expanded('Chat (C)'), await expanded('Devices')]).toEqual(['false', 'false'])
    await page.getByRole('button', { name: 'Chat (C)' }).click()
    expect(await expanded('Chat (C)')).toBe('true')
    await page.keyboard.press('Escape')
    expect([await expanded('Chat (C)'), await focused(page)]).toEqual(['false', 'Chat (C)'])
    await page.getByRole('button', { name: 'Devices' }).click()
    expect(await expanded('Devices')).toBe('true')
    await page.keyboard.press('Escape')
    await until('the dialog is closed', async () => (await expanded('Devices')) === 'false')
    expect(await focused(page)).toBe('Devices')
  })

  it('shows whole videos in tiles of 16:9, and the number of people', async () => {
    const [{ page }] = await twoPeople()
    await page.getByText('2 people', { exact: true }).waitFor()
    for (const viewport of VIEWPORTS) {
      await page.setViewportSize(viewport)
      const tiles = (): Promise<{ width: number; height: number; fit: string }[]> =>
        page.locator('.tile video').evaluateAll((videos) =>
          videos.map((video) => {
            const { clientWidth: width, clientHeight: height } = video
            return { width, height, fit: getComputedStyle(video).objectFit }
          }),
        )
      await until(`tiles of 16:9 at ${viewport.width} × ${viewport.height}`, async () =>
        (await tiles()).every(({ width, height }) => height > 60 && Math.abs(width - (height * 16) / 9) < 2),
      )
      expect((await tiles()).map(({ fit }) => fit)).toEqual(['contain', 'contain'])
    }
  })

  it('shows the names of twenty people on a phone, and the own filters only during hover or focus', async () => {
    call.newSession()
    const { page } = await call.join('Ada')
    await page.bringToFront()
    await page.setViewportSize(LOW_PHONE)
    await page.emulateMedia({ reducedMotion: 'reduce' })
    const crowd = await Promise.all(Array.from({ length: 19 }, () => call.stack.join(call.sessionId)))
    await page.getByText('20 people', { exact: true }).waitFor()
    const own = page.getByRole('listitem', { name: 'Ada (you)' })
    const name = own.getByText('Ada (you)')
    const filters = own.getByRole('combobox', { name: 'Filter' })
    const isShown = (): Promise<boolean> => filters.evaluate((one) => one.checkVisibility({ opacityProperty: true }))
    await page.mouse.move(0, 0)
    await until('the filters are hidden', async () => !(await isShown()))
    const [tile, caption] = await Promise.all([boxOf(own), boxOf(name)])
    expect(tile.height).toBeLessThan(80)
    expect(caption.y + caption.height).toBeLessThanOrEqual(tile.y + tile.height)
    expect(await page.getByRole('list', { name: 'Participants' }).getByRole('listitem').count()).toBe(20)
    expect(await violationsOf(page)).toEqual([])
    await own.hover()
    await until('hover shows the filters', isShown)
    await page.mouse.move(0, 0)
    await until('the filters are hidden again', async () => !(await isShown()))
    await page.getByRole('toolbar', { name: 'Controls' }).locator('button[tabindex="0"]:visible').focus()
    await page.keyboard.press('Shift+Tab')
    expect(await focused(page)).toBe('Filter')
    await until('focus shows the filters', isShown)
    await Promise.all(crowd.map((one) => one.close()))
  })

  it('keeps the call in view beside the open chat on a phone', async () => {
    const [{ page }] = await twoPeople()
    await page.keyboard.press('c')
    for (const viewport of [PHONE, SMALL_PHONE, PHONE_ON_ITS_SIDE]) {
      await page.setViewportSize(viewport)
      const [stage, chat, controls, field] = await Promise.all([
        boxOf(page.locator('.stage')),
        boxOf(page.locator('.chat')),
        boxOf(page.locator('.controls')),
        boxOf(page.getByRole('textbox', { name: 'Message' })),
      ])
      expect(stage.height).toBeGreaterThan(96)
      expect(stage.width).toBeGreaterThan(viewport.width / 2)
      const isApart = chat.y >= stage.y + stage.height - 1 || chat.x >= stage.x + stage.width - 1
      expect(isApart).toBe(true)
      const form = await boxOf(page.locator('.chat-form'))
      expect([form.x - chat.x <= 1, form.width >= chat.width - 2]).toEqual([true, true])
      for (const { x, y, width, height } of [stage, chat, controls, field]) {
        expect(Math.min(x, y)).toBeGreaterThanOrEqual(0)
        expect(x + width).toBeLessThanOrEqual(viewport.width + 1)
        expect(y + height).toBeLessThanOrEqual(viewport.height + 1)
      }
    }
  })

  it('converts URLs in the chat to links without access to the page', async () => {
    const [ada, grace] = await twoPeople()
    await ada.page.keyboard.press('c')
    const field = ada.page.getByRole('textbox', { name: 'Message' })
    for (const text of [
      'See https://example.org/agenda.',
      'javascript:alert(1)',
      '<a href="https://a.example">x</a>',
    ]) {
      await field.fill(text)
      await field.press('Enter')
    }
    const links = grace.page.locator('.message a')
    await until('three messages', async () => (await grace.page.locator('.message').count()) === 3)
    const attributes = await links.evaluateAll((all) =>
      all.map((link) => [link.textContent, ...['href', 'target', 'rel'].map((name) => link.getAttribute(name))]),
    )
    expect(attributes).toEqual([
      ['https://example.org/agenda', 'https://example.org/agenda', '_blank', 'noopener noreferrer'],
      ['https://a.example', 'https://a.example/', '_blank', 'noopener noreferrer'],
    ])
  })
})
