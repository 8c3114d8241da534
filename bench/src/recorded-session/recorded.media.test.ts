import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Clip, readClip, SyntheticParticipant } from '@session-service/synthetic-participant'
import { type Stack, startStack } from '@session-service/testing'
import { CLAPPER_ALONE, check, checkComposed, checkIndividual } from './findings.js'
import { startRecording } from './recording.js'

const run = promisify(execFile)
/** The flash and the beep are on for a fifth of each second. */
const IS_ON = 'lt(mod(t\\,1)\\,0.2)'
const FLASH = `color=black:size=320x180:rate=25,drawbox=color=white:t=fill:enable=${IS_ON}`
const BEEP = `aevalsrc=0.5*sin(880*2*PI*t)*${IS_ON}:s=48000`
const SECONDS = 8

let stack: Stack
let clip: Clip
const folder = mkdtempSync(join(tmpdir(), 'recorded-'))

beforeAll(async () => {
  const files = [join(folder, 'clapper.ivf'), join(folder, 'clapper.ogg')] as const
  const sources = ['-f', 'lavfi', '-i', FLASH, '-f', 'lavfi', '-i', BEEP]
  const video = '-t 5 -map 0:v -c:v libvpx -deadline realtime -cpu-used 8 -b:v 200k -g 12 -auto-alt-ref 0'.split(' ')
  const audio = '-t 5 -map 1:a -c:a libopus -b:a 32k -frame_duration 20 -ac 2'.split(' ')
  await run('ffmpeg', ['-v', 'error', '-nostdin', ...sources, ...video, files[0], ...audio, files[1]])
  clip = await readClip(...files)
  stack = await startStack({ masterEnv: { SERVICE_RECORDING: 'true' } })
})
afterAll(async () => {
  await stack.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Joins a new session as its only participant. */
async function ada(): Promise<{ session: string; leave: () => Promise<void> }> {
  const { id } = await stack.api.createSession()
  const { token } = await stack.api.createConnection(id)
  const participant = await SyntheticParticipant.join(token ?? '', { clientData: 'Ada' })
  await participant.publish({ clip })
  return { session: id, leave: () => participant.leave() }
}

it('records files that decode, have the right duration and keep sound and picture in sync in both output modes', async () => {
  const people = [await ada(), await ada()] as const
  const stopComposed = await startRecording(stack, people[0].session, 'COMPOSED', { resolution: '320x180' })
  const stopIndividual = await startRecording(stack, people[1].session, 'INDIVIDUAL')
  // The length of the recording, not a wait for a condition.
  await delay(SECONDS * 1_000)
  const [composed, individual] = await Promise.all([stopComposed(), stopIndividual()])
  await Promise.all(people.map(({ leave }) => leave()))
  const { findings } = await checkComposed(composed, CLAPPER_ALONE)
  const all = [...findings, ...(await checkIndividual(individual, folder))]
  expect(all.length).toBe(8)
  expect(all.filter(({ passed }) => !passed).map(check)).toEqual([])
}, 90_000)
