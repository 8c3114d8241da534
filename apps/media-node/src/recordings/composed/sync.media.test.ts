/** @quiet It measures the offset between audio and video. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { setTimeout as pause } from 'node:timers/promises'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Camera } from '../fixtures/camera.js'
import { Composition } from './fixtures/composition.js'
import { beepsAndFlashes, median } from './fixtures/recorded.js'

const run = promisify(execFile)

/** Both last a fifth of each second. */
const NOW = 'lt(mod(t\\,1)\\,0.2)'
const FLASH = `color=black:size=320x180:rate=25,drawbox=color=white:t=fill:enable=${NOW}`
const BEEP = `aevalsrc=0.5*sin(880*2*PI*t)*${NOW}:s=48000`

const MOST_APART_MS = 80
const SECONDS = 10

/** Encoded in advance: an encoding sender cannot keep real time on a busy machine. */
async function makeClapperClip(folder: string): Promise<string> {
  const clip = join(folder, 'clapper.webm')
  const sources = ['-f', 'lavfi', '-i', FLASH, '-f', 'lavfi', '-i', BEEP]
  // The speech mode: in music mode the encoder sends for half a second after a beep, and hardly uses DTX.
  const codecs =
    '-t 20 -c:v libvpx -deadline realtime -cpu-used 8 -b:v 200k -g 12 -c:a libopus -application voip -b:a 32k -ac 2'
  await run('ffmpeg', ['-v', 'error', ...sources, ...codecs.split(' '), clip])
  return clip
}

const CASES = [
  { what: 'sent without a break', dtx: false, isThere: false },
  { what: 'sent with DTX', dtx: true, isThere: false },
  { what: 'sent with DTX since before the start', dtx: true, isThere: true },
]

interface Recorded {
  path: string
  /** Packets that DTX has suppressed. */
  notSent: number
}

/** Records a clapper; `isThere`: it is published before the recording begins. */
async function record(composition: Composition, clip: string, dtx: boolean, isThere: boolean): Promise<Recorded> {
  const { stack, room } = composition
  const recorder = composition.recorder({ width: 320, height: 180 })
  if (!isThere) await recorder.start()
  const clapper = await Camera.publish(stack, room, 'clapper', { clip, dtx })
  if (isThere) await recorder.start()
  // The duration of the recording, not a wait for a condition; reading the file meanwhile would disturb the writers.
  await pause(SECONDS * 1_000)
  const [file] = await recorder.stop()
  await clapper.close()
  return { path: composition.path(file!), notSent: clapper.notSent }
}

let compositions: Composition[] = []
let recorded: Recorded[]
/** All at once: a recording takes little of a processor. */
beforeAll(async () => {
  compositions = await Promise.all(CASES.map(() => Composition.open()))
  const clip = await makeClapperClip(compositions[0]!.folder)
  recorded = await Promise.all(CASES.map(({ dtx, isThere }, nth) => record(compositions[nth]!, clip, dtx, isThere)))
}, 60_000)
afterAll(() => Promise.all(compositions.map((composition) => composition.close())))

it.each(CASES.map((each, nth) => ({ ...each, nth })))('audio and video $what are in sync', async ({ dtx, nth }) => {
  const { path, notSent } = recorded[nth]!
  // More than 20 of 50 packets per second are silence.
  expect(notSent > SECONDS * 10).toBe(dtx)
  const { beeps, after } = await beepsAndFlashes(path)
  console.log(`beeps after flashes, ms: ${after.join(' ')}`)
  expect(after.length).toBeGreaterThan(SECONDS / 2)
  expect(Math.abs(median(after))).toBeLessThan(MOST_APART_MS)
  // No audio is dropped or inserted; an overloaded machine may lose a beep.
  const between = beeps.slice(1).map((beep, before) => beep - beeps[before]!)
  const regular = between.filter((seconds) => Math.abs(seconds - 1) < 0.05)
  expect(regular.length).toBeGreaterThan(between.length / 2)
})
