import { SENTENCES as ALL, TEST_ENGINES, wordErrorRate } from '@session-service/speech/fixtures'
import { descendantsOf, launchBrowser, startStack, type Stack, type TestBrowser, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SpeechFiles } from '../../fixtures/microphone.js'
import { V2_PREFIX, V2Page } from '../../fixtures/v2-page.js'

const PATIENCE_MS = 60_000
const SENTENCES = ALL.slice(0, 3)
const PAUSE_S = 1.5
const NODE_ID = 'media_one'

interface Said {
  text: string
  reason: string
  lang: string
  connectionId: string
}
/** The parts of the library of version 2 for speech to text. */
interface SpeechSession {
  subscribeToSpeechToText(stream: object, lang: string): Promise<void>
  unsubscribeFromSpeechToText(stream: object): Promise<void>
}
type SpeechEvent = Omit<Said, 'connectionId'> & { connection: { connectionId: string } }

declare global {
  interface Window {
    said: Said[]
  }
}

const [vosk] = TEST_ENGINES.filter(({ engine }) => engine.name === 'vosk')

;(vosk ? describe : describe.skip)('captions of a page with the unmodified library of version 2', () => {
  if (!vosk) return it('need an engine', () => {})
  const files = new SpeechFiles(vosk, SENTENCES, PAUSE_S)
  let stack: Stack
  let browser: TestBrowser

  beforeAll(async () => {
    const { masterEnv, nodeEnv, browserArgs } = files
    ;[stack, browser] = await Promise.all([
      startStack({
        masterEnv: { ...masterEnv, SERVICE_COMPAT_PREFIX: V2_PREFIX },
        nodeEnv: { ...nodeEnv, MEDIA_NODE_ID: NODE_ID },
      }),
      launchBrowser({ args: browserArgs }),
    ])
    // From a cold disk it may take longer than the 10 s that the library waits for an answer.
    const model = { lang: 'en-US', mediaNode: { id: NODE_ID } }
    expect((await stack.rest('POST', '/speech-to-text/load', model)).status).toBe(200)
  }, PATIENCE_MS)
  afterAll(async () => {
    await browser?.close()
    await stack?.stop()
    files.remove()
  })

  /** Ada speaks, and Grace reads. */
  async function meeting() {
    const { id } = await stack.api.createSession()
    const ada = await V2Page.open(browser, stack, id, { name: 'ada' })
    const grace = await V2Page.open(browser, stack, id, { name: 'grace', role: 'SUBSCRIBER' })
    const streamId = await ada.publish({ videoSource: false })
    await grace.event(`streamCreated ${streamId}`)
    await grace.page.evaluate(() => {
      window.said = []
      window.v2.session.on('speechToTextMessage', (event) => {
        const { text, reason, lang, connection } = event as unknown as SpeechEvent
        window.said.push({ text, reason, lang, connectionId: connection.connectionId })
      })
    })
    const call = (method: keyof SpeechSession): Promise<void> =>
      grace.page.evaluate(
        async ([name, wanted]) => {
          const { session } = window.v2
          const streams = [...session.remoteConnections.values()].flatMap(({ stream }) => stream ?? [])
          const stream = streams.find((each) => each.streamId === wanted)
          if (stream) await (session as unknown as SpeechSession)[name as keyof SpeechSession](stream, 'en-US')
        },
        [method, streamId],
      )
    return { ada, grace, call }
  }
  /** Without the stream of a lost model, which the node shows until its next heartbeat. */
  const isLoadedAgain = async (): Promise<boolean> => {
    const { languageModels = [] } = await stack.api.getMediaNode(NODE_ID)
    return languageModels.some(({ status, streams }) => status === 'loaded' && streams === 0)
  }
  const saidTo = (grace: V2Page): Promise<Said[]> => grace.page.evaluate(() => window.said)
  const finished = async (grace: V2Page): Promise<Said[]> =>
    (await saidTo(grace)).filter(({ reason }) => reason === 'recognized')

  it(
    'show each sentence of the microphone of the other page, and end when its model fails or it unsubscribes',
    async () => {
      const { ada, grace, call } = await meeting()
      await call('subscribeToSpeechToText')
      const hears = (sentence: string) => async (): Promise<boolean> =>
        (await finished(grace)).some(({ text }) => wordErrorRate(sentence, text) < 0.5)
      for (const sentence of SENTENCES) await until(`the sentence "${sentence}"`, hears(sentence), PATIENCE_MS)
      const said = await saidTo(grace)
      expect(said.some(({ reason }) => reason === 'recognizing')).toBe(true)
      expect(new Set(said.map(({ lang, connectionId }) => `${lang} ${connectionId}`))).toEqual(
        new Set([`en-US ${ada.connectionId}`]),
      )

      const [slot] = descendantsOf(process.pid).filter(({ command }) => command.includes('slot-process'))
      if (!slot) throw new Error('no process recognizes speech')
      process.kill(slot.pid, 'SIGKILL')
      await grace.event('exception SPEECH_TO_TEXT_DISCONNECTED')

      // As at the start: the library waits 10 s for an answer, the node loads the model again.
      await until('the model is loaded again', isLoadedAgain, PATIENCE_MS)
      await grace.page.evaluate(() => void window.said.splice(0))
      await call('subscribeToSpeechToText')
      await until('captions continue', async () => (await finished(grace)).length > 0, PATIENCE_MS)
      await call('unsubscribeFromSpeechToText')
      await expect(call('unsubscribeFromSpeechToText')).rejects.toThrow()
    },
    4 * PATIENCE_MS,
  )
})
