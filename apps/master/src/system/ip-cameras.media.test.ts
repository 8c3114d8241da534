import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ConnectionView } from '@session-service/contract'
import { SENTENCES, testEngine, wordErrorRate } from '@session-service/speech/fixtures'
import {
  type AppProcess,
  budgetMs,
  calmMs,
  isAlive,
  makeCameraClip,
  type Stack,
  startStack,
  until,
} from '@session-service/testing'
import {
  becomes,
  CAMERA_ENV,
  clipsFolder,
  makeSpokenClip,
  readersOf,
  receives,
  TestCamera,
  type Viewer,
  watch,
} from './fixtures/cameras.js'
import { nodeOf, startAllNodes } from './fixtures/meeting.js'
import { ModelsFolder, nextSentences, subscribeToSpeech } from './fixtures/speakers.js'

const LONG_MS = 120_000
/** How soon the pictures of a camera are back after its return. */
const BACK_MS = 5_000
/** Short, so that a camera that hangs is noticed soon; on a busy machine its first answer takes longer. */
const CAMERA_TIMEOUT = String(Math.ceil(budgetMs(1_500)))
const SENTENCE = SENTENCES[0] ?? ''

const vosk = testEngine('vosk')
const folder = clipsFolder()
const models = vosk && new ModelsFolder(vosk)
const viewers: Viewer[] = []
let stack: Stack
let clip: string
let otherClip: string
let camera: TestCamera
let sessionId: string
let view: ConnectionView
let viewer: Viewer

beforeAll(async () => {
  ;[clip, otherClip] = await Promise.all([
    makeCameraClip(folder.path, { video: 'h264', audio: 'aac' }),
    makeCameraClip(folder.path, { video: 'h265', audio: 'opus' }),
  ])
  camera = await TestCamera.start(clip)
  stack = await startStack({
    nodes: 0,
    masterEnv: { ...CAMERA_ENV, ...models?.masterEnv },
    nodeEnv: { MEDIA_NODE_DRAIN_TIMEOUT: '86400', MEDIA_NODE_CAMERA_TIMEOUT: CAMERA_TIMEOUT, ...models?.nodeEnv },
  })
  await Promise.all(['media_one', 'media_two'].map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID })))
  await startAllNodes(stack)
  ;({ id: sessionId } = await stack.api.createSession({ mediaNode: { id: 'media_one' } }))
  view = await create(camera)
  viewer = await join(view)
  await receives(viewer)
}, LONG_MS)
afterAll(async () => {
  await Promise.all(viewers.map(({ peer }) => peer.close()))
  // A node that drains would wait for it.
  await stack.rest('DELETE', `/sessions/${sessionId}`)
  await stack.stop()
  await camera.stop()
  models?.remove()
  folder.remove()
})

const create = ({ uri: rtspUri }: TestCamera): Promise<ConnectionView> =>
  stack.api.createConnection(sessionId, { type: 'IPCAM', rtspUri, networkCache: 0 })

async function join(published: ConnectionView): Promise<Viewer> {
  const joined = await watch(stack, sessionId, published)
  viewers.push(joined)
  return joined
}

/** The time until pictures and sound are back, ms of the calm clock. */
async function backMs(): Promise<number> {
  const start = calmMs()
  await receives(viewer)
  return calmMs() - start
}

/** The camera continues under its ids, is read once, and nothing is left of the former node. */
async function expectMoved(readers: readonly number[]): Promise<void> {
  await becomes(stack, sessionId, view, 'playing')
  const now = await stack.api.getConnection(sessionId, view.id)
  expect(now.publishers?.map(({ streamId }) => streamId)).toEqual(view.publishers?.map(({ streamId }) => streamId))
  await until('the camera is read once', () => camera.server.connections === 1)
  await until('the programs of the former node have ended', () => !readers.some(isAlive))
  expect(readersOf((await nodeOf(stack, sessionId)).pid)).toHaveLength(1)
  expect(viewer.peer.violations).toEqual([])
}

describe('a camera whose media node', () => {
  it('is killed is read by another node, under the same ids, and its viewers receive it again', async () => {
    const node = await nodeOf(stack, sessionId)
    const readers = readersOf(node.pid)
    expect(readers).toHaveLength(1)
    node.kill('SIGKILL')
    console.info(`the camera is back ${(await backMs()).toFixed(0)} ms after kill -9 of its node`)
    await expectMoved(readers)
    expect((await stack.api.getSession(sessionId)).mediaNodeId).toBe('media_two')
  })

  it('drains is read until the node exits, and then by another node', async () => {
    await startAllNodes(stack)
    const node: AppProcess = await nodeOf(stack, sessionId)
    const readers = readersOf(node.pid)
    node.kill('SIGTERM')
    await until('the node drains', async () => {
      const { status } = await stack.api.getMediaNode('media_two')
      return status === 'waiting-idle-to-terminate'
    })
    await receives(viewer)
    expect(readersOf(node.pid)).toEqual(readers)
    node.kill('SIGTERM')
    console.info(`the camera is back ${(await backMs()).toFixed(0)} ms after the second SIGTERM of its node`)
    expect(await node.exited).toBe(0)
    await expectMoved(readers)
  })
})

describe('a camera that', () => {
  it('was switched off is back soon after its return, also with other codecs', async () => {
    await camera.stop()
    await becomes(stack, sessionId, view, 'reconnecting')
    await viewer.peer.waitFor('cameraStatusChanged', ({ status }) => status === 'reconnecting')
    await camera.returns(otherClip)
    const took = await backMs()
    console.info(`pictures ${took.toFixed(0)} ms after the return of the camera with other codecs`)
    expect(took).toBeLessThan(BACK_MS)
    await becomes(stack, sessionId, view, 'playing')
  })

  it('hung is back soon after its return', async () => {
    camera.server.fault = 'hangs'
    await becomes(stack, sessionId, view, 'reconnecting')
    camera.server.fault = undefined
    const took = await backMs()
    console.info(`pictures ${took.toFixed(0)} ms after the return of the camera that hung`)
    expect(took).toBeLessThan(BACK_MS)
  })

  it('is deleted is not read any more', async () => {
    await stack.api.deleteConnection(sessionId, view.id)
    await until('the camera has no connection', () => camera.server.connections === 0)
    await until('no program is left', () => stack.nodes.every(({ pid }) => readersOf(pid).length === 0))
  })
})

const itWithSpeech = vosk ? it : it.skip

itWithSpeech(
  'the speech of a camera is recognized',
  async () => {
    const speaker = await TestCamera.start(await makeSpokenClip(folder.path, SENTENCE))
    // It may not answer within the short timeout that the tests above need.
    const { id } = await until('the camera is added', () => create(speaker))
    await subscribeToSpeech(viewer.peer, id)
    const sentences = await nextSentences(viewer.peer, 2)
    const rates = sentences.map(({ text }) => wordErrorRate(SENTENCE, text))
    // The first sentence may be cut.
    expect(Math.min(...rates)).toBeLessThanOrEqual(0.25)
    expect(sentences.every(({ connectionId }) => connectionId === id)).toBe(true)
    await stack.api.deleteConnection(sessionId, id)
    await speaker.stop()
  },
  LONG_MS,
)
