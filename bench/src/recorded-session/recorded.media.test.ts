/** @quiet It measures the offset between sound and picture of a browser and of encoders. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as path } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Clip, readClip, SyntheticParticipant } from '@session-service/synthetic-participant'
import { makeCameraClip, RtspServer, type Stack, startStack, until } from '@session-service/testing'
import { lineOf } from '../benchmark/findings.js'
import { CLAPPER_ALONE, checkComposed, checkIndividual } from './findings.js'
import { type Recorded, startRecording } from './recording.js'

const run = promisify(execFile)
/** The flash and the beep are on for a fifth of each second. */
const IS_ON = 'lt(mod(t\\,1)\\,0.2)'
const FLASH = `color=black:size=320x180:rate=25,drawbox=color=white:t=fill:enable=${IS_ON}`
const BEEP = `aevalsrc=0.5*sin(880*2*PI*t)*${IS_ON}:s=48000`
const SECONDS = 8
const CAMERA_SECONDS = 6
const ADA_HZ = 880
const CAMERA_HZ = 3_000
/** Areas within the pictures of the first and the last of three participants. */
const ADA_OF_THREE = '160:90:80:45'
/** It sends 15 pictures a second, and its sound is encoded twice. */
const CAMERA = { part: '160:90:240:225', pitch: CAMERA_HZ, mostOffset: 0.12 }

let stack: Stack
let clip: Clip
const folder = mkdtempSync(path(tmpdir(), 'recorded-'))

beforeAll(async () => {
  const files = [path(folder, 'clapper.ivf'), path(folder, 'clapper.ogg')] as const
  const sources = ['-f', 'lavfi', '-i', FLASH, '-f', 'lavfi', '-i', BEEP]
  const video = '-t 5 -map 0:v -c:v libvpx -deadline realtime -cpu-used 8 -b:v 200k -g 12 -auto-alt-ref 0'.split(' ')
  const audio = '-t 5 -map 1:a -c:a libopus -b:a 32k -frame_duration 20 -ac 2'.split(' ')
  await run('ffmpeg', ['-v', 'error', '-nostdin', ...sources, ...video, files[0], ...audio, files[1]])
  clip = await readClip(...files)
  const masterEnv = { SERVICE_RECORDING: 'true', SERVICE_IPCAM_ALLOWED_ADDRESSES: '["127.0.0.0/8"]' }
  stack = await startStack({ masterEnv })
})
afterAll(async () => {
  await stack.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Joins a session with flashes and beeps. */
async function join(session: string, clientData: string): Promise<() => Promise<void>> {
  const { token } = await stack.api.createConnection(session)
  const participant = await SyntheticParticipant.join(token ?? '', { clientData })
  await participant.publish(clientData === 'Ada' ? { clip } : { audio: false })
  return () => participant.leave()
}

/** Joins a new session as its only participant. */
async function ada(): Promise<{ session: string; leave: () => Promise<void> }> {
  const { id } = await stack.api.createSession()
  return { session: id, leave: await join(id, 'Ada') }
}

it('records files that decode, have the right duration and keep sound and picture in sync in both output modes', async () => {
  const people = [await ada(), await ada()] as const
  const stopComposed = await startRecording(stack, people[0].session, 'COMPOSED', { resolution: '320x180' })
  const stopIndividual = await startRecording(stack, people[1].session, 'INDIVIDUAL')
  // The length of the recording, not a wait for a condition.
  await delay(SECONDS * 1_000)
  const [composed, individual] = await Promise.all([stopComposed(), stopIndividual()])
  await Promise.all(people.map(({ leave }) => leave()))
  const { findings } = await checkComposed(composed, { part: CLAPPER_ALONE })
  const all = [...findings, ...(await checkIndividual(individual, folder))]
  expect(all.length).toBe(8)
  expect(all.filter(({ passed }) => !passed).map(lineOf)).toEqual([])
}, 90_000)

it('keeps two people and a camera in sync in both output modes', async () => {
  const file = await makeCameraClip(folder, { video: 'h264', audio: 'aac', beepHz: CAMERA_HZ })
  const server = await RtspServer.start({ clips: { clip: { file, kinds: ['video', 'audio'] } } })
  const { id } = await stack.api.createSession()
  const leaves = [await join(id, 'Ada'), await join(id, 'Grace')]
  const camera = {
    type: 'IPCAM',
    rtspUri: server.url('clip'),
    networkCache: 0,
    onlyPlayWithSubscribers: false,
  } as const
  const { id: cameraId } = await stack.api.createConnection(id, camera)
  await until('the camera plays', async () => (await stack.api.getConnection(id, cameraId)).cameraStatus === 'playing')
  const files: Recorded[] = []
  for (const [mode, options] of [
    ['COMPOSED', { resolution: '640x360' }],
    ['INDIVIDUAL', {}],
  ] as const) {
    const stop = await startRecording(stack, id, mode, options)
    // The length of the recording, not a wait for a condition.
    await delay(CAMERA_SECONDS * 1_000)
    files.push(await stop())
  }
  await Promise.all(leaves.map((leave) => leave()))
  await server.stop()
  const [composed, individual] = files as [Recorded, Recorded]
  const all = [
    ...(await checkComposed(composed, { part: ADA_OF_THREE, pitch: ADA_HZ })).findings,
    ...(await checkComposed(composed, CAMERA)).findings,
    ...(await checkIndividual(individual, mkdtempSync(path(folder, 'individual-')))),
  ]
  expect(all.filter(({ passed }) => !passed).map(lineOf)).toEqual([])
  expect(all.filter(({ name }) => name.includes('beep after flash'))).toHaveLength(4)
}, 120_000)
