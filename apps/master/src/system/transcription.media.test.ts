import { SENTENCES, testEngine, type TestEngine, wordErrorRate } from '@session-service/speech/fixtures'
import { type Stack, startStack, SyntheticParticipant, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ModelsFolder, saying } from './fixtures/speakers.js'

const LONG_MS = 120_000
const SENTENCE = SENTENCES[0] ?? ''
const [ONE, TWO] = ['media_one', 'media_two'] as const

const vosk = testEngine('vosk')
const describeSpeech = vosk ? describe : describe.skip

describeSpeech('the transcription of a session with real media nodes and a real model', () => {
  let models: ModelsFolder
  let stack: Stack

  beforeAll(async () => {
    models = new ModelsFolder(vosk as TestEngine)
    stack = await startStack({ nodes: 0, masterEnv: models.masterEnv, nodeEnv: models.nodeEnv })
    await Promise.all([ONE, TWO].map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID })))
  }, LONG_MS)
  afterAll(async () => {
    await stack.stop()
    models.remove()
  })

  it(
    'begins with the first participant, and continues on another node after kill -9 of the node',
    async () => {
      const { id } = await stack.api.createSession({ mediaNode: { id: ONE } })
      await stack.api.startTranscription(id, { lang: 'en-US' })
      const { token } = await stack.api.createConnection(id)
      const alice = await SyntheticParticipant.join(stack.atMaster(0, token))
      await alice.publish(saying(SENTENCE))
      const sentences = async () => (await stack.api.getTranscript(id)).content
      const hasSentences = async (count: number): Promise<void> => {
        await until(`${count} sentences are stored`, async () => (await sentences()).length >= count, 30_000)
      }
      await hasSentences(2)
      const [node] = stack.nodes.filter(({ env }) => env.MEDIA_NODE_ID === ONE)
      node?.kill('SIGKILL')
      await until('the participant has rejoined', () => alice.mediaEpoch > 1, 40_000)
      const before = (await sentences()).length
      await hasSentences(before + 2)
      const stored = await sentences()
      expect(wordErrorRate(SENTENCE, stored.at(-1)?.text ?? '')).toBeLessThanOrEqual(0.25)
      expect(new Set(stored.map(({ startTime }) => startTime)).size).toBe(stored.length)
      expect(alice.events.filter(({ method }) => method.startsWith('speechToText'))).toEqual([])
      await stack.api.stopTranscription(id)
      await until('no stream is recognized', async () => {
        const shown = (await stack.api.getMediaNode(TWO)).languageModels ?? []
        return shown.every(({ streams }) => streams === 0)
      })
      await alice.close()
    },
    LONG_MS,
  )
})
