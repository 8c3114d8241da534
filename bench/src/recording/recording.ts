import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Stack, startStack } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { median } from '../figures/statistics.js'
import { Helper } from '../helper/helper.js'
import { servePages } from '../join/page-server.js'
import { PARTICIPANTS } from '../participants/api.js'
import { browserRecorder } from './browser-recorder.js'
import { CLIP, type ClipFiles, makeClips } from './clips.js'
import { compareComposed } from './composed.js'
import { compareDeferred } from './deferred.js'
import { compareIndividual, remuxRecorder } from './individual.js'
import { findLimit } from './limit.js'
import { nativeRecorder } from './native-recorder.js'
import { type Box, scenePictures } from './quality.js'
import { compareQuickStart } from './quick-start.js'
import type { Recorder } from './recorder.js'

const PARTICIPANT_COUNT = 4
/** Positions of four participants in the native composition. */
const BOXES: readonly Box[] = [
  { x: 0, y: 0, width: 640, height: 360 },
  { x: 640, y: 0, width: 640, height: 360 },
  { x: 0, y: 360, width: 640, height: 360 },
  { x: 640, y: 360, width: 640, height: 360 },
]
/** The participants alternate between the scenes. */
const SCENES = 2

/** A session whose participants publish their scenes. */
interface Gathering {
  session: string
  leave: () => Promise<void>
}

export const recording: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'bench-recording-'))
    cleanUp.defer(() => rmSync(folder, { recursive: true, force: true }))
    options.log('encoding the scenes')
    const clips = await makeClips(folder, SCENES)
    const stack = await startStack({
      masterEnv: { SERVICE_RECORDING: 'true' },
      nodeEnv: { MEDIA_NODE_RECORDING_SLOTS: '20' },
    })
    cleanUp.defer(() => stack.stop())
    const participants = await Helper.start(PARTICIPANTS, new URL('../participants/participants.js', import.meta.url))
    cleanUp.defer(() => participants.stop())
    const gather = (properties: object = {}) => gatherParticipants(stack, participants, { clips, properties })
    const { session } = await gather()
    const browser = await browserOf(stack, session, cleanUp)
    const remux = remuxRecorder(
      Array.from({ length: PARTICIPANT_COUNT }, (_, nth) => clips[nth % SCENES]?.webm ?? ''),
      folder,
    )
    // Awaited: otherwise the clean-up would run before the measurement.
    return await measure({ stack, session, clips, gather, browser, remux }, options)
  },
}

interface Scene {
  stack: Stack
  session: string
  clips: readonly ClipFiles[]
  gather: (properties?: object) => Promise<Gathering>
  browser: Recorder
  remux: Recorder
}

async function measure(
  { stack, session, clips, gather, browser, remux }: Scene,
  options: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const shown = await Promise.all(clips.map(({ webm }, nth) => scenePictures(webm, BOXES[nth])))
  const recorders = { ours: nativeRecorder(stack, session), reference: browser }
  const composed = await compareComposed({ stack, recorders, shown }, options)
  const individual = nativeRecorder(stack, session, { outputMode: 'INDIVIDUAL' })
  const copied = await compareIndividual({ ours: individual, reference: remux }, options)
  const deferred = await compareDeferred(stack, session, options)
  const ready = await compareQuickStart(stack, gather, options)
  const limit = await findLimit(
    async () => {
      const gathering = await gather()
      return { recorder: nativeRecorder(stack, gathering.session), leave: gathering.leave }
    },
    shown,
    options,
  )
  return {
    names: { ours: 'session-service', reference: 'the other' },
    settings: { ...composed.settings, people: PARTICIPANT_COUNT, ...CLIP },
    comparisons: [...composed.comparisons, ...copied, ...deferred, ...ready],
    notes: [perCore(composed.comparisons), ...limit],
  }
}

function perCore([cpu]: readonly Comparison[]): string {
  const share = median(cpu?.ours ?? []) / 60
  return `judged by CPU alone, a core runs ${(1 / share).toFixed(1)} recordings; each uses ${share.toFixed(2)} of a core`
}

/** A recorder whose browser shows a page with the same pictures at the same positions. */
async function browserOf(stack: Stack, session: string, cleanUp: AsyncDisposableStack): Promise<Recorder> {
  let playing = Promise.withResolvers<void>()
  const folder = join(import.meta.dirname, 'page')
  const pages = await servePages({ folder, pages: ['grid'], onReport: () => playing.resolve() })
  cleanUp.use(pages)
  return browserRecorder(async () => {
    playing = Promise.withResolvers<void>()
    const { token } = await stack.api.createConnection(session, { role: 'SUBSCRIBER' })
    const library = `${stack.masterUrl}/service/client/session-client.js`
    const boxes = BOXES.map(({ x, y, width, height }) => [x, y, width, height].join()).join(';')
    return { page: pages.address('grid', { library, token: token ?? '', boxes }), playing: playing.promise }
  })
}

async function gatherParticipants(
  stack: Stack,
  participants: Helper<typeof PARTICIPANTS>,
  { clips, properties }: { clips: readonly ClipFiles[]; properties: object },
): Promise<Gathering> {
  const { id } = await stack.api.createSession(properties)
  const connections = await Promise.all(Array.from({ length: PARTICIPANT_COUNT }, () => stack.api.createConnection(id)))
  const tokens = connections.map(({ token }) => token ?? '')
  const files = clips.map(({ ivf, ogg }) => ({ ivf, ogg }))
  await participants.call('publish', { room: id, tokens, kbps: CLIP.kbps, keyFrameDeafMs: 0, clips: files })
  await participants.call('talk', { room: id, active: true })
  return { session: id, leave: async () => void (await participants.call('leave', { room: id })) }
}
