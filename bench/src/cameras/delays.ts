import { setTimeout as delay } from 'node:timers/promises'
import { type SyntheticParticipant, until } from '@session-service/testing'
import type { BenchmarkOptions } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { Peer, PEERS } from './peer.js'
import { createCamera, firstPicture, joinSession, type Scene } from './scene.js'
import { LONG_INTERVAL_S } from './clips.js'

const PLANS = { quick: 3, full: 10 }

/** How soon pictures arrive: of a new camera, and of one that is read, at a client that joins. */
export async function compareDelays(scene: Scene, { quick, log }: BenchmarkOptions): Promise<Comparison[]> {
  const runs = quick ? PLANS.quick : PLANS.full
  const [added, joined] = [await measureAdded(scene, runs), await measureJoined(scene, runs)]
  log(`from POST: ${round(added.ours)} ms, from joining: ${round(joined.ours)} ms`)
  return [
    { figure: 'POST to first picture, ms, against ffmpeg', ...added },
    { figure: `join to first picture, key frames each ${LONG_INTERVAL_S} s, ms, against a new reader`, ...joined },
  ]
}

const round = (values: readonly number[]): string => values.map((value) => value.toFixed(0)).join(', ')

/** A participant waits for the camera. The other side is an ffmpeg that opens the same camera and copies it. */
async function measureAdded(scene: Scene, runs: number): Promise<{ ours: number[]; reference: number[] }> {
  const [ours, reference]: [number[], number[]] = [[], []]
  // The server starts to play the clip with its first reader.
  await openedByPeer(scene, 'prompt')
  const { id } = await scene.stack.api.createSession()
  const viewer = await joinSession(scene, id)
  for (let run = 0; run < runs; run++) {
    const startedAt = performance.timeOrigin + performance.now()
    const watching = nextStream(viewer).then((streamId) => viewer.subscribe(streamId))
    const camera = await createCamera(scene, id, 'prompt')
    ours.push((await firstPicture(await watching)) - startedAt)
    await scene.stack.api.deleteConnection(id, camera.id)
    reference.push(await openedByPeer(scene, 'prompt'))
  }
  await viewer.leave()
  return { ours, reference }
}

/** Resolves with the next stream that is published. */
const nextStream = (viewer: SyntheticParticipant): Promise<string> =>
  new Promise((resolve) => {
    const stop = viewer.on('streamCreated', ({ params }) => {
      stop()
      resolve(params.streamId)
    })
  })

/** Participants join at different times between two key frames. */
async function measureJoined(scene: Scene, runs: number): Promise<{ ours: number[]; reference: number[] }> {
  const [ours, reference]: [number[], number[]] = [[], []]
  const { id } = await scene.stack.api.createSession()
  const camera = await createCamera(scene, id, 'rare')
  const streamId = camera.publishers?.[0]?.streamId ?? ''
  const first = await joinSession(scene, id)
  await firstPicture(await first.subscribe(streamId))
  for (let run = 0; run < runs; run++) {
    await delay(((run + 0.5) / runs) * LONG_INTERVAL_S * 1_000)
    const startedAt = performance.timeOrigin + performance.now()
    const [took, others] = await Promise.all([joinedBy(scene, id, streamId, startedAt), openedByPeer(scene, 'rare')])
    ours.push(took)
    reference.push(others)
  }
  await first.leave()
  return { ours, reference }
}

async function joinedBy(scene: Scene, id: string, streamId: string, startedAt: number): Promise<number> {
  const viewer = await joinSession(scene, id)
  const at = await firstPicture(await viewer.subscribe(streamId))
  await viewer.leave()
  return at - startedAt
}

async function openedByPeer({ server }: Scene, clip: 'prompt' | 'rare'): Promise<number> {
  const peer = await Peer.start(server.url(clip), PEERS.copied)
  try {
    return await until('the first picture of the peer', () => peer.firstPictureMs, 60_000)
  } finally {
    await peer.stop()
  }
}
