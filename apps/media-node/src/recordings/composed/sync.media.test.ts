/** @quiet It measures the offset of sound and picture. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { setTimeout as pause } from 'node:timers/promises'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Camera } from '../fixtures/camera.js'
import { Composition } from './fixtures/composition.js'
import { beepsAndFlashes } from './fixtures/recorded.js'

const run = promisify(execFile)

/** Both for a fifth of each second. */
const NOW = 'lt(mod(t\\,1)\\,0.2)'
const FLASH = `color=black:size=320x180:rate=25,drawbox=color=white:t=fill:enable=${NOW}`
const BEEP = `aevalsrc=0.5*sin(880*2*PI*t)*${NOW}:s=48000`

let composition: Composition
beforeEach(async () => void (composition = await Composition.open()))
afterEach(() => composition.close())

const MOST_APART_MS = 80
const SECONDS = 10

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? NaN

/** Made before it is sent: a sender that has to encode does not keep the time on a busy machine. */
async function makeClapperClip(): Promise<string> {
  const clip = join(composition.folder, 'clapper.webm')
  const sources = ['-f', 'lavfi', '-i', FLASH, '-f', 'lavfi', '-i', BEEP]
  // For speech: for music the encoder goes on for half a second after a beep, and would hardly use DTX.
  const codecs =
    '-t 20 -c:v libvpx -deadline realtime -cpu-used 8 -b:v 200k -g 12 -c:a libopus -application voip -b:a 32k -ac 2'
  await run('ffmpeg', ['-v', 'error', ...sources, ...codecs.split(' '), clip])
  return clip
}

it.each([
  { what: 'sent without a break', dtx: false, isThere: false },
  { what: 'sent with DTX', dtx: true, isThere: false },
  { what: 'sent with DTX since before the start', dtx: true, isThere: true },
])('audio and video $what are in sync', async ({ dtx, isThere }) => {
  const { stack, room } = composition
  const clip = await makeClapperClip()
  const recorder = composition.recorder({ width: 320, height: 180 })
  if (!isThere) await recorder.start()
  const clapper = await Camera.publish(stack, room, 'clapper', { clip, dtx })
  if (isThere) await recorder.start()
  // How long it lasts, not something waited for; looking at the file meanwhile would disturb those who write it.
  await pause(SECONDS * 1_000)
  const [file] = await recorder.stop()
  await clapper.close()
  // Of 50 packets a second more than 20 are silence.
  expect(clapper.notSent > SECONDS * 10).toBe(dtx)
  const { beeps, after } = await beepsAndFlashes(composition.path(file!))
  console.log(`beeps after flashes, ms: ${after.join(' ')}`)
  expect(after.length).toBeGreaterThan(SECONDS / 2)
  expect(Math.abs(median(after))).toBeLessThan(MOST_APART_MS)
  // Nothing is cut out of the sound, and nothing put in; on a machine that is overrun a beep may be lost.
  const between = beeps.slice(1).map((beep, nth) => beep - beeps[nth]!)
  const regular = between.filter((seconds) => Math.abs(seconds - 1) < 0.05)
  expect(regular.length).toBeGreaterThan(between.length / 2)
})
