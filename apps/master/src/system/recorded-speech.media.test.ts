/** @quiet It measures the times of subtitles. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SENTENCES, testEngine, type TestEngine, wordErrorRate } from '@session-service/speech/fixtures'
import { type Stack, startStack, SyntheticParticipant, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { inspectTracks } from '../recordings/storage/fixtures/subtitle-tracks.js'
import { ModelsFolder, nextSentences, saying, subscribeToSpeech } from './fixtures/speakers.js'

const LONG_MS = 180_000
const SENTENCE = SENTENCES[0] ?? ''
/** Tolerance between the begin of the speech in the file and its cue, s. */
const TOLERANCE_S = 0.3

const vosk = testEngine('vosk')
const describeSpeech = vosk ? describe : describe.skip
const run = promisify(execFile)

/** The times at which silences of the file end, s. */
async function speechStarts(path: string): Promise<number[]> {
  const filter = ['-af', 'silencedetect=noise=-45dB:d=0.6', '-f', 'null', '-']
  const { stderr } = await run('ffmpeg', ['-nostdin', '-i', path, '-vn', ...filter])
  return [...stderr.matchAll(/silence_end: ([\d.]+)/g)].map(([, second]) => Number(second))
}

describeSpeech('a recording of real speech', () => {
  let models: ModelsFolder
  let stack: Stack
  let folder: string
  const participants: SyntheticParticipant[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'recorded-speech-'))
    models = new ModelsFolder(vosk as TestEngine)
    const masterEnv = { ...models.masterEnv, SERVICE_RECORDING: 'true' }
    stack = await startStack({ nodes: 1, masterEnv, nodeEnv: models.nodeEnv })
  }, LONG_MS)
  afterAll(async () => {
    await Promise.all(participants.map((each) => each.close()))
    await stack.stop()
    models.remove()
    await rm(folder, { recursive: true, force: true })
  })

  async function enter(sessionId: string): Promise<SyntheticParticipant> {
    const participant = await SyntheticParticipant.join((await stack.api.createConnection(sessionId)).token ?? '')
    participants.push(participant)
    return participant
  }

  it(
    'has subtitles that begin with the speech in its file',
    async () => {
      const { id } = await stack.api.createSession()
      const [alice, bob] = [await enter(id), await enter(id)]
      await alice.publish(saying(SENTENCE))
      await subscribeToSpeech(bob, alice.connectionId)
      await nextSentences(bob)
      const options = { session: id, recordingLayout: 'BEST_FIT', resolution: '320x180' }
      expect((await stack.rest('POST', '/recordings/start', options)).status).toBe(200)
      await nextSentences(bob, 3)
      expect((await stack.rest('POST', `/recordings/stop/${id}`)).status).toBe(200)
      const status = async (): Promise<unknown> =>
        ((await stack.rest('GET', `/recordings/${id}`)).body as { status: unknown }).status
      await until('the recording is ready', async () => (await status()) === 'ready', 60_000)

      const authorization = stack.authorization
      const url = `${stack.masterUrl}/service/recordings/${id}/${id}.mp4`
      const video = await fetch(url, { headers: { authorization } })
      const path = join(folder, 'recording.mp4')
      await writeFile(path, Buffer.from(await video.arrayBuffer()))
      const [track] = inspectTracks(path)
      expect(track?.language).toBe('eng')
      // The first and the last sentence may have been cut by the recording.
      const whole = (track?.cues ?? []).filter(({ from }) => from > 0).slice(0, 2)
      expect(whole).toHaveLength(2)
      const starts = await speechStarts(path)
      for (const { from, text } of whole) {
        expect(wordErrorRate(SENTENCE, text.replace(/^\S+: /, ''))).toBeLessThanOrEqual(0.25)
        const distance = Math.min(...starts.map((start) => Math.abs(start - from)))
        expect([from, starts, distance < TOLERANCE_S]).toEqual([from, starts, true])
      }
    },
    LONG_MS,
  )
})
