/** @quiet Encoders need the CPU to keep up. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Composition } from './fixtures/composition.js'
import type { PlainPublisher } from './fixtures/plain-publisher.js'
import { coloursAt, probe } from './fixtures/recorded.js'

const CHANGES = 140
const LONGEST_PAUSE_MS = 250
const PATIENCE_MS = 40_000
const SIZE = { width: 320, height: 180 }

let composition: Composition
beforeEach(async () => void (composition = await Composition.open()))
afterEach(() => composition.close())

const held = (pid: number): { files: number; threads: number } => ({
  files: readdirSync(`/proc/${pid}/fd`).length,
  threads: readdirSync(`/proc/${pid}/task`).length,
})

/** The published streams, as recorders see them: a stream is present or absent at once. */
function toggle({ room, stream }: PlainPublisher): void {
  if (room.streams.has(stream.id)) room.unpublished(stream)
  else room.published(stream)
}

it('constant joins, leaves and mutes leave nothing behind, and the file is complete', async () => {
  const publishers = await Promise.all(
    ['red', 'green', 'blue', 'white'].map((colour) =>
      composition.publish({ connectionId: colour, video: `color=${colour}:size=160x90:rate=10`, audio: 'sine' }),
    ),
  )
  for (const publisher of publishers) toggle(publisher)
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  const [pid] = composition.compositors()
  const before = held(pid!)
  for (let nth = 0; nth < CHANGES; nth++) {
    const publisher = publishers[Math.floor(Math.random() * publishers.length)]!
    if (Math.random() < 0.3) await publisher.stream.change({ video: Math.random() < 0.5 })
    else toggle(publisher)
    // Simulated behaviour, not a wait for a condition.
    await pause(Math.random() * LONGEST_PAUSE_MS)
  }
  for (const { room, stream } of publishers) if (room.streams.has(stream.id)) room.unpublished(stream)
  const isLeftAlone = (): boolean => {
    const { files, threads } = held(pid!)
    // Two threads of the task pool wait for the next task for a while.
    return files <= before.files && threads <= before.threads + 2
  }
  await until('nothing is held for them', isLeftAlone, PATIENCE_MS)
  const [red] = publishers
  await red!.stream.change({ video: true })
  toggle(red!)
  const path = join(composition.folder, 'composed.mp4')
  const isRed = async (): Promise<boolean> => (await coloursAt(path, SIZE, [[160, 50]])).at(-1)?.[0] === 'red'
  await until('red is seen', isRed, PATIENCE_MS)
  const [file] = await recorder.stop()
  expect(composition.ends).toEqual([])
  expect(composition.warnings).toEqual([])
  const { duration, streams } = await probe(composition.path(file!))
  expect(Math.abs(duration - (file!.endedAt - file!.startedAt) / 1_000)).toBeLessThan(0.5)
  expect(streams[0]!.frames / duration).toBeGreaterThan(23)
}, 180_000)
