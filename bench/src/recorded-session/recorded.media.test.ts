import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Clip, readClip, SyntheticParticipant } from '@session-service/synthetic-participant'
import { type Stack, startStack } from '@session-service/testing'
import { CLAPPER_ALONE, check, checkComposed, checkIndividual } from './findings.js'
import { startTake } from './take.js'

const run = promisify(execFile)
/** Both for a fifth of each second. */
const NOW = 'lt(mod(t\\,1)\\,0.2)'
const FLASH = `color=black:size=320x180:rate=25,drawbox=color=white:t=fill:enable=${NOW}`
const BEEP = `aevalsrc=0.5*sin(880*2*PI*t)*${NOW}:s=48000`
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

/** Alone in a session of her own. */
async function ada(): Promise<{ session: string; leave: () => Promise<void> }> {
  const { id } = await stack.api.createSession()
  const { token } = await stack.api.createConnection(id)
  const participant = await SyntheticParticipant.join(token ?? '', { clientData: 'Ada' })
  await participant.publish({ clip })
  return { session: id, leave: () => participant.leave() }
}

test('both ways: what is recorded decodes, lasts as long as it was recorded, and its sound belongs to its picture', async () => {
  const people = [await ada(), await ada()] as const
  const stopComposed = await startTake(stack, people[0].session, 'COMPOSED', { resolution: '320x180' })
  const stopIndividual = await startTake(stack, people[1].session, 'INDIVIDUAL')
  // How long it lasts, not something waited for.
  await pause(SECONDS * 1_000)
  const [composed, individual] = await Promise.all([stopComposed(), stopIndividual()])
  await Promise.all(people.map(({ leave }) => leave()))
  const { findings } = await checkComposed(composed, CLAPPER_ALONE)
  const all = [...findings, ...(await checkIndividual(individual, folder))]
  expect(all.length).toBe(8)
  expect(all.filter(({ fulfilled }) => !fulfilled).map(check)).toEqual([])
}, 90_000)
