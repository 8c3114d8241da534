import { readFileSync } from 'node:fs'
import { SENTENCES as ALL, TEST_ENGINES, type TestEngine, wordErrorRate } from '@session-service/speech/fixtures'
import { budgetMs, descendantsOf, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { useCall } from '../../fixtures/call.js'
import { SpeechFiles } from '../../fixtures/microphone.js'
import type { Tab } from '../../fixtures/tab.js'

const LONG_MS = 240_000
/** Each test listens in real time; libs/speech recognizes all of them. */
const SENTENCES = ALL.slice(0, 5)
/** Ends an utterance. */
const PAUSE_S = 1.5
const NEAR_MS = 300

interface Heard {
  readonly text: string
  readonly reason: string
  readonly lang: string
  /** When the first word begins, or the sentence where the engine reports no words, UTC ms. */
  readonly start: number
  /** When the page received it, ms of the page's clock. */
  readonly at: number
}

declare global {
  interface Window {
    /** The messages of speech to text, oldest first. */
    heard: Heard[]
  }
}

const record = (page: Page): Promise<void> =>
  page.evaluate(() => {
    window.heard = []
    window.playground.session?.on('speechToTextMessage', ({ text, reason, lang, timestamp, words }) => {
      const start = timestamp + (words[0]?.start ?? 0) * 1_000
      window.heard.push({ text, reason, lang, start, at: performance.now() })
    })
  })

const heardBy = ({ page }: Tab): Promise<Heard[]> => page.evaluate(() => window.heard)
const finished = async (tab: Tab): Promise<Heard[]> =>
  (await heardBy(tab)).filter(({ reason }) => reason === 'recognized')
const forget = ({ page }: Tab): Promise<void> => page.evaluate(() => void window.heard.splice(0))
const hearsMore = async (tab: Tab, deadlineMs = 60_000): Promise<Heard> => {
  await forget(tab)
  return until('a further sentence', async () => (await finished(tab))[0], deadlineMs)
}

async function turnOn(page: Page, language: string): Promise<void> {
  await page.getByRole('button', { name: /^Captions/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Captions' })
  await dialog.getByLabel('Spoken language').selectOption(language)
  await dialog.getByRole('button', { name: /Turn captions on|Apply/ }).click()
  await dialog.waitFor({ state: 'detached', timeout: budgetMs(20_000) })
}

/** The text that resembles the sentence most. */
const bestOf = (sentence: string, texts: readonly string[]): string =>
  texts.reduce(
    (best, text) => (wordErrorRate(sentence, text) < wordErrorRate(sentence, best) ? text : best),
    texts[0] ?? '',
  )

const describeEach = TEST_ENGINES.length > 0 ? describe.each(TEST_ENGINES) : describe.skip.each([{ name: 'no engine' }])

describeEach('captions of real speech, recognized by $name', (testEngine: TestEngine | { name: string }) => {
  if (!('engine' in testEngine)) return it('needs an engine', () => {})
  const files = new SpeechFiles(testEngine, SENTENCES, PAUSE_S)
  const { masterEnv, nodeEnv, browserArgs } = files
  const call = useCall({
    frames: 3,
    problemsExpected: true,
    masterEnv,
    nodeEnv,
    browser: { args: browserArgs },
  })
  // The processors are for the recognition.
  beforeAll(() =>
    call.browser.context.addInitScript(() =>
      localStorage.setItem('playground.choices', JSON.stringify({ video: false })),
    ),
  )
  afterAll(() => files.remove())

  /** The finished sentences of the first meeting. */
  const heardFirst: Heard[] = []

  /** Ada speaks. Grace reads. */
  const meeting = async (): Promise<{ ada: Tab; grace: Tab }> => {
    call.newSession()
    const ada = await call.join('Ada')
    const grace = await call.join('Grace', { role: 'SUBSCRIBER' })
    await record(grace.page)
    await grace.page.bringToFront()
    return { ada, grace }
  }

  it(
    'shows the sentences of a microphone to the other participant, in the transcript and as WebVTT',
    async () => {
      const { ada, grace } = await meeting()
      await turnOn(grace.page, 'en-US')
      await ada.page.bringToFront()
      await grace.page.bringToFront()
      await grace.page
        .locator('.tile', { hasText: 'Ada' })
        .locator('.captions .unfinished')
        .waitFor({ timeout: budgetMs(30_000) })
      const texts = async (): Promise<string[]> => (await finished(grace)).map(({ text }) => text)
      await until(
        'every sentence',
        async () => {
          const known = await texts()
          return SENTENCES.every((sentence) => wordErrorRate(sentence, bestOf(sentence, known)) < 0.5)
        },
        120_000,
      )
      const known = await texts()
      const best = SENTENCES.map((sentence) => bestOf(sentence, known))
      expect(wordErrorRate(SENTENCES.join(' '), best.join(' '))).toBeLessThanOrEqual(0.1)

      // Unfinished texts precede each sentence.
      const all = await heardBy(grace)
      const unannounced = all.filter(
        ({ reason }, index) => index > 0 && reason === 'recognized' && all[index - 1]?.reason === 'recognized',
      )
      expect(unannounced).toEqual([])

      // Each sentence is finished once.
      heardFirst.push(...(await finished(grace)))
      const starts = heardFirst.map(({ start }) => start)
      expect(new Set(starts).size).toBe(starts.length)

      const shown = await grace.page.locator('.transcript .message p').allTextContents()
      expect(shown.slice(0, known.length)).toEqual(known)
      await grace.page.getByRole('button', { name: 'Transcript', exact: true }).click()
      const [download] = await Promise.all([
        grace.page.waitForEvent('download'),
        grace.page.getByRole('button', { name: 'Download transcript (.vtt)' }).click(),
      ])
      const vtt = readFileSync(await download.path(), 'utf8')
      expect(vtt).toMatch(/^WEBVTT session-\d+\n\nNOTE Time 0 is .*Z\n\n1\n00:00:00\.000 --> 00:00:0/)
      for (const text of known) expect(vtt).toContain(`<v Ada>${text.replaceAll('&', '&amp;')}`)
    },
    LONG_MS,
  )

  it(
    'reports when the words were said, to within 300 ms',
    async () => {
      const exact = (text: string) => files.spoken.find((each) => wordErrorRate(each.text, text) === 0)
      const pairsOf = (heard: readonly Heard[]) => {
        const sentences = heard.flatMap(({ text, start }) => {
          const spoken = exact(text)
          return spoken ? [{ spoken, start }] : []
        })
        return sentences.slice(1).flatMap((later, index) => {
          const earlier = sentences[index]
          // In the order of the recording, without its repetition between them.
          const between = earlier && later.spoken.start - earlier.spoken.start
          return earlier && between !== undefined && between > 0
            ? [Math.abs(later.start - earlier.start - between * 1_000)]
            : []
        })
      }
      const differences = pairsOf(heardFirst)
      if (differences.length < 3) {
        const { grace } = await meeting()
        await turnOn(grace.page, 'en-US')
        const more = async () => {
          const found = pairsOf(await finished(grace))
          return differences.length + found.length >= 3 && found
        }
        differences.push(...(await until('three pairs of sentences', more, 120_000)))
      }
      expect(Math.max(...differences)).toBeLessThan(NEAR_MS)
    },
    LONG_MS,
  )

  // The rest does not depend on the engine.
  if (testEngine.name !== 'vosk') return

  it(
    'continues in another language, after muting, and after the failure of the model',
    async () => {
      const { ada, grace } = await meeting()
      await turnOn(grace.page, 'en-US')
      expect((await hearsMore(grace)).lang).toBe('en-US')
      // Loads the model of this language for the first time.
      await turnOn(grace.page, 'en-GB')
      await until('captions start', async () => (await heardBy(grace)).at(-1)?.lang === 'en-GB', 60_000)
      expect((await hearsMore(grace)).lang).toBe('en-GB')

      await ada.page.keyboard.press('m')
      await grace.tile('Ada').locator('.badge-muted').waitFor()
      await ada.page.keyboard.press('m')
      await hearsMore(grace)

      const slots = descendantsOf(process.pid).filter(({ command }) => command.includes('slot-process'))
      expect(slots.length).toBeGreaterThan(0)
      for (const { pid } of slots) process.kill(pid, 'SIGKILL')
      await grace.page.getByText('Captions were interrupted. They continue in a moment.').waitFor()
      await forget(grace)
      // The time limit is checked where no browser competes for the processors (subscriptions.media).
      await until('captions resume', async () => (await heardBy(grace)).length > 0, 30_000)
      await hearsMore(grace)
    },
    LONG_MS,
  )

  it(
    'continues on another media node after the loss of the first one',
    async () => {
      const { grace } = await meeting()
      await turnOn(grace.page, 'en-US')
      await hearsMore(grace)
      const [victim] = call.stack.nodes.filter(({ running }) => running)
      await call.stack.addNode()
      victim?.kill('SIGKILL')
      await grace.event('reconnected', 40_000)
      await hearsMore(grace)
      expect((await grace.events('exception')).filter(({ reason }) => reason?.startsWith('SPEECH'))).toEqual([])
    },
    LONG_MS,
  )
})
