import { readFileSync } from 'node:fs'
import { budgetMs, until } from '@session-service/testing'
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { useCall } from '../../fixtures/call.js'
import { controlsIn } from '../../fixtures/measures.js'
import { SpeechStub } from '../../fixtures/speech-stub.js'
import type { Tab } from '../../fixtures/tab.js'

const TARGET_PX = 44
const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }
const SMALL_PHONE = { width: 320, height: 568 }
const START = Date.UTC(2026, 0, 2, 10, 30)

const captionsButton = (page: Page) => page.getByRole('button', { name: /^Captions/ })
const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Captions' })

async function turnOn(page: Page): Promise<void> {
  await captionsButton(page).click()
  await dialogOf(page).getByRole('button', { name: 'Turn captions on' }).click()
  await dialogOf(page).waitFor({ state: 'detached' })
}

/** The service answers everything but the requests for speech to text. */
describe('captions in the playground', () => {
  const call = useCall({ frames: 3, masterEnv: { SERVICE_PRO_SPEECH_TO_TEXT: 'vosk' } })
  let stub: SpeechStub
  beforeAll(async () => {
    stub = await SpeechStub.install(call.browser.context)
  })
  beforeEach(() => {
    stub.sockets.splice(0)
    stub.calls.splice(0)
    stub.refuse = () => undefined
  })

  /** Ada has the captions. */
  const twoPeople = async (): Promise<{ ada: Tab; page: Page; grace: Tab; ids: [string, string] }> => {
    const [ada, grace] = await call.both()
    await ada.page.bringToFront()
    return { ada, page: ada.page, grace, ids: [await grace.connectionId, await grace.streamId] }
  }

  it('are subscribed to for everyone, and for participants who come later', async () => {
    const { ada, page, ids } = await twoPeople()
    await turnOn(page)
    const own = await ada.connectionId
    expect(stub.calls.toSorted()).toEqual(
      [`subscribeToSpeechToText ${ids[0]} en-US`, `subscribeToSpeechToText ${own} en-US`].toSorted(),
    )
    await page.getByRole('button', { name: 'Captions, on: American English' }).waitFor()
    const alan = await call.join('Alan')
    const third = `subscribeToSpeechToText ${await alan.connectionId} en-US`
    await until('captions of Alan', () => stub.calls.includes(third))
    await page.bringToFront()
    await captionsButton(page).click()
    await dialogOf(page).getByRole('button', { name: 'Turn off' }).click()
    await until('unsubscribed', () => stub.calls.filter((each) => each.startsWith('unsubscribe')).length === 3)
    await page.getByRole('button', { name: 'Captions', exact: true }).waitFor()
  })

  it('appear over the tile of the speaker, unfinished texts in another style, and disappear', async () => {
    const { ada, page, ids } = await twoPeople()
    await turnOn(page)
    const captions = ada.tile('Grace').locator('.captions')
    stub.say(...ids, 'hello', { reason: 'recognizing' })
    await captions.locator('.unfinished', { hasText: 'hello' }).waitFor()
    expect(await captions.getAttribute('aria-hidden')).toBe('true')
    stub.say(...ids, 'hello everyone and welcome')
    stub.say(...ids, 'to', { reason: 'recognizing' })
    await captions.locator('.unfinished', { hasText: /^to$/ }).waitFor()
    expect(await captions.locator('.lines > *').allTextContents()).toEqual(['hello everyone and welcome', 'to'])
    expect(await ada.tile('Ada').locator('.captions').isVisible()).toBe(false)
    // A screen reader announces only the finished sentence.
    expect(await page.getByRole('log', { name: 'Captions' }).locator('p').allTextContents()).toEqual([
      'Grace: hello everyone and welcome',
    ])
    await captions.waitFor({ state: 'hidden', timeout: budgetMs(15_000) })
  })

  it('show the last two lines of a long text', async () => {
    const { ada, page, ids } = await twoPeople()
    await turnOn(page)
    const captions = ada.tile('Grace').locator('.captions p')
    const long = `${'many words '.repeat(60)}and the last ones`
    stub.say(...ids, long, { reason: 'recognizing' })
    await captions.getByText('and the last ones').waitFor()
    const { height, lineHeight, bottom, textBottom } = await captions.evaluate((element) => {
      const span = element.querySelector('.unfinished')?.getBoundingClientRect()
      const box = element.getBoundingClientRect()
      const style = getComputedStyle(element)
      return {
        height: box.height,
        lineHeight: parseFloat(style.lineHeight),
        bottom: box.bottom,
        textBottom: span?.bottom ?? 0,
      }
    })
    expect(height / lineHeight).toBeGreaterThan(1.9)
    expect(height / lineHeight).toBeLessThan(3)
    // Earlier lines are cut off at the top.
    expect(textBottom).toBeLessThanOrEqual(bottom)
  })

  it('explain that a language has no model, and keep the former language', async () => {
    const { page } = await twoPeople()
    stub.refuse = (lang) => (lang === 'en-US' ? undefined : { code: 404, message: 'no language model eo' })
    await captionsButton(page).click()
    const dialog = dialogOf(page)
    const language = dialog.getByLabel('Spoken language')
    await language.selectOption('Another language…')
    const tag = dialog.getByLabel('Language tag')
    await tag.press('Enter')
    await dialog.getByRole('alert').getByText('Please enter the tag of a language.').waitFor()
    await tag.fill('eo')
    await tag.press('Enter')
    const problem = 'This service has no language model for Esperanto (eo).'
    await dialog.getByRole('alert').getByText(problem).waitFor()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('caption-tag')
    await language.selectOption('en-US')
    await dialog.getByRole('button', { name: 'Turn captions on' }).click()
    await dialog.waitFor({ state: 'detached' })
    await captionsButton(page).click()
    await language.selectOption('es-ES')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await dialog.getByRole('alert').getByText('no language model for European Spanish').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Captions, on: American English' }).waitFor()
  })

  it('are not offered by a service without speech to text, and explained when that is learned later', async () => {
    const { page } = await twoPeople()
    stub.refuse = () => ({ code: 996, message: 'speech to text is disabled' })
    await captionsButton(page).click()
    await dialogOf(page).getByRole('button', { name: 'Turn captions on' }).click()
    await dialogOf(page).getByRole('alert').getByText('This service does not offer captions.').waitFor()
    await page.route('**/api/features', (route) => route.fulfill({ json: { captions: false } }))
    await page.reload()
    await page.waitForFunction(() => window.playground.publisher?.published === true)
    await page.getByRole('button', { name: 'Devices' }).waitFor()
    expect(await captionsButton(page).isVisible()).toBe(false)
  })

  it('report an interruption once, and the library subscribes again', async () => {
    const { ada, page, ids } = await twoPeople()
    await turnOn(page)
    const before = stub.calls.length
    for (const connectionId of [ids[0], await ada.connectionId])
      stub.notify('speechToTextDisconnected', { connectionId, lang: 'en-US', message: 'the process ended' })
    await page.getByText('Captions were interrupted. They continue in a moment.').waitFor()
    await until('subscribed again', () => stub.calls.length === before + 2)
    expect(await page.getByText('Captions were interrupted.').count()).toBe(1)
  })

  describe('in the transcript', () => {
    const withSentences = async () => {
      const people = await twoPeople()
      const { ada, page, ids } = people
      await turnOn(page)
      const own: [string, string] = [await ada.connectionId, await ada.streamId]
      stub.say(...ids, 'good morning', { timestamp: START + 500, endTime: START + 1_500 })
      stub.say(...own, 'hello <b>everyone</b>', { timestamp: START, endTime: START + 2_000 })
      stub.say(...ids, 'unfinished', { timestamp: START + 3_000, reason: 'recognizing' })
      stub.say(...ids, 'how are you', { timestamp: START + 3_000, endTime: START + 4_000 })
      await page.getByRole('button', { name: 'Transcript', exact: true }).click()
      await page.locator('.transcript').getByText('how are you').waitFor()
      return people
    }

    it('are listed in the order of their begins, with names and times', async () => {
      const { page } = await withSentences()
      const transcript = page.locator('.transcript')
      expect(await transcript.locator('.message p').allTextContents()).toEqual([
        'hello <b>everyone</b>',
        'good morning',
        'how are you',
      ])
      expect(await transcript.locator('.from b').allTextContents()).toEqual(['You', 'Grace'])
      expect((await transcript.locator('.from time').allTextContents()).join()).toMatch(/\d\d:\d\d/)
    })

    it('are copied and downloaded as WebVTT', async () => {
      await call.browser.context.grantPermissions(['clipboard-read', 'clipboard-write', 'camera', 'microphone'])
      const { page } = await withSentences()
      await page.getByRole('button', { name: 'Copy transcript' }).click()
      await page.getByText('The transcript was copied.').waitFor()
      expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(
        /^\[.*\] Ada: hello <b>everyone<\/b>\n\[.*\] Grace: good morning\n\[.*\] Grace: how are you$/,
      )
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download transcript (.vtt)' }).click(),
      ])
      expect(download.suggestedFilename()).toBe(`transcript-${call.sessionId}.vtt`)
      expect(readFileSync(await download.path(), 'utf8')).toBe(`WEBVTT ${call.sessionId}

NOTE Time 0 is 2026-01-02T10:30:00.000Z

1
00:00:00.000 --> 00:00:02.000
<v Ada>hello &lt;b&gt;everyone&lt;/b&gt;

2
00:00:00.500 --> 00:00:01.500
<v Grace>good morning

3
00:00:03.000 --> 00:00:04.000
<v Grace>how are you
`)
    })

    it('take the place of the chat, and the keyboard reaches and closes them', async () => {
      const { page } = await withSentences()
      const button = page.getByRole('button', { name: 'Transcript', exact: true })
      expect(await button.getAttribute('aria-expanded')).toBe('true')
      await page.keyboard.press('c')
      await page.locator('.transcript').waitFor({ state: 'hidden' })
      await page.getByRole('textbox', { name: 'Message' }).waitFor()
      await button.press('Enter')
      await page.locator('.chat').waitFor({ state: 'hidden' })
      await page.keyboard.press('Escape')
      await page.locator('.transcript').waitFor({ state: 'hidden' })
      expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Transcript')
    })

    it('fit on phones, with targets of at least 44 px', async () => {
      const { page, ids } = await withSentences()
      for (const viewport of [DESKTOP, PHONE, SMALL_PHONE]) {
        await page.setViewportSize(viewport)
        stub.say(...ids, 'we should move on to the next question')
        const captions = page.locator('.tile', { hasText: 'Grace' }).locator('.captions p')
        await captions.waitFor()
        const controls = await controlsIn(page.locator('body'))
        const tooSmall = controls.filter(({ width, height }) => Math.min(width, height) < TARGET_PX)
        expect([viewport, tooSmall]).toEqual([viewport, []])
        // Tiles move to their new places.
        const width = (): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth)
        await until('nothing is wider than the screen', async () => (await width()) <= viewport.width)
        const boxes = await Promise.all(
          [captions, page.locator('.transcript'), page.locator('.stage')].map((one) => one.boundingBox()),
        )
        for (const box of boxes) {
          if (!box) throw new Error('not visible')
          expect(box.x).toBeGreaterThanOrEqual(0)
          expect(box.x + box.width).toBeLessThanOrEqual(viewport.width + 1)
          expect(box.y + box.height).toBeLessThanOrEqual(viewport.height + 1)
        }
        expect(boxes[2]?.height).toBeGreaterThan(96)
      }
      await captionsButton(page).click()
      const dialog = await dialogOf(page).boundingBox()
      expect(dialog?.width).toBeLessThanOrEqual(SMALL_PHONE.width)
      expect(dialog?.height).toBeLessThanOrEqual(SMALL_PHONE.height)
    })
  })
})
