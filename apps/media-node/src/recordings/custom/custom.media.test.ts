import { readlinkSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { RecordingJob } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { childrenOf } from '../../fixtures/processes.js'
import { MediaStack } from '../../rooms/fixtures/media-stack.js'
import { beepsAndFlashes, coloursAt, median, probe } from '../composed/fixtures/recorded.js'
import type { Recorder } from '../recorder/recorder.js'
import { serviceClock } from '@session-service/server-kit'
import { createCustomRecorder } from './custom-recorder.js'
import { openSite, type Site } from './fixtures/layout-site.js'

const SIZE = { width: 320, height: 180 }
const DEFAULTS = { ...SIZE, hasAudio: true, frameRate: 15 }
/** How the names of folders of the recorders of this process begin. */
const SCRATCH = `session-recorder-${process.pid}-`
/* oxlint-disable language/plain-english -- `tell` is the interface of layout pages */

const TOKEN = 'ws://127.0.0.1:1/service/signalling?sessionId=ses&token=tok_HIDDEN'
/** Shows red at the left and blue at the right, plays a tone, and reports its token. */
const PAGE = `<!doctype html><style>html{height:100%;background:linear-gradient(90deg,#f00 50%,#00f 50%)}</style><body><script>
  const audio = new AudioContext(); const tone = audio.createOscillator(); tone.connect(audio.destination); tone.start()
  fetch('/joined?' + new URLSearchParams({ token: sessionServiceRecorder.token, width: innerWidth, height: innerHeight }))
  setTimeout(() => sessionServiceRecorder.tell('joined'), 100)</script>`

/** White and a tone for the same fifth of each second. */
const CLAPPER = `<!doctype html><body style="background:#000"><script>
  const audio = new AudioContext(); const gain = audio.createGain(); gain.gain.value = 0; gain.connect(audio.destination)
  const tone = audio.createOscillator(); tone.frequency.value = 880; tone.connect(gain); tone.start()
  setInterval(() => {
    const isOn = Date.now() % 1000 < 200
    document.body.style.background = isOn ? '#fff' : '#000'
    gain.gain.setValueAtTime(isOn ? 0.5 : 0, audio.currentTime)
  }, 5)
  setTimeout(() => sessionServiceRecorder.tell('joined'), 100)</script>`
const CLAPPER_MS = 5_000
const MOST_LOST_MS = 500

let stack: MediaStack
let site: Site
let canary: Site
let folder: string
let recorders: Recorder[] = []
let rooms = 0
const roomId = (): string => `room${rooms}`
const ends: (string | undefined)[] = []

beforeAll(async () => {
  stack = await MediaStack.start()
  canary = await openSite({ '/': 'here' })
  site = await openSite({
    '/page': PAGE,
    '/clapper': CLAPPER,
    '/silent': '…',
    '/elsewhere': `→${canary.origin}/`,
    '/strays': `<!doctype html><body><iframe src="${canary.origin}/framed"></iframe>
      <iframe src="/framed"></iframe><script>
      const { tell } = sessionServiceRecorder
      onload = () => { tell('joined'); location.href = '${canary.origin}/moved'; setTimeout(() => fetch('/stayed'), 300) }
      </script>`,
    '/framed': '<script>fetch("/given?" + typeof sessionServiceRecorder)</script>',
    '/stays': `<!doctype html><script>sessionServiceRecorder.tell('joined')</script>`,
    '/leaves': `<!doctype html><script>sessionServiceRecorder.tell('joined')
      setTimeout(() => sessionServiceRecorder.tell('networkDisconnect'), 2000)</script>`,
    '/frames': `<!doctype html><body><iframe src="/missing"></iframe><script>
      const { tell } = sessionServiceRecorder
      onload = () => fetch('/loaded').then(() => tell('joined'))</script>`,
    '/hangs': `<!doctype html><script>sessionServiceRecorder.tell('joined'); setTimeout(() => { for (;;); }, 500)</script>`,
    '/asks': `<!doctype html><script>sessionServiceRecorder.tell('joined')
      setTimeout(() => fetch('/answered?' + [alert('Hello'), confirm('Go on?')]), 300)</script>`,
    '/goes': `<!doctype html><script>sessionServiceRecorder.tell('joined')
      setTimeout(() => { location.href = '/gone?key=1#there' }, 300)</script>`,
    '/gone': '<!doctype html>',
    '/reloads': `<!doctype html><script>sessionServiceRecorder.tell('joined')
      if (sessionStorage.known) fetch('/rejoined')
      else setTimeout(() => { sessionStorage.known = 'yes'; location.reload() }, 300)</script>`,
    '/refuses': '<!doctype html><script>sessionServiceRecorder.tell("no layout today")</script>',
  })
})
afterAll(async () => {
  await stack.stop()
  await site.close()
  await canary.close()
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'custom-'))
  ends.length = 0
  site.hits.length = 0
  rooms += 1
  await stack.join(roomId(), 'host', { videoCodec: 'NONE' })
})
afterEach(async () => {
  await Promise.all(recorders.map((recorder) => recorder.stop()))
  recorders = []
  await rm(folder, { recursive: true, force: true })
  await until('no folder and no process is left', async () => {
    expect((await readdir(tmpdir())).filter((name) => name.startsWith(SCRATCH))).toEqual([])
    expect((await commandLines()).filter((line) => line.includes(SCRATCH))).toEqual([])
    return true
  })
})

async function commandLines(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
}

/** The renderer processes of the browsers of this process. */
async function renderers(): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const own = new RegExp(`--type=renderer.*session-recorder-${process.pid}-`, 's')
  const lines = pids.map(async (pid) => [pid, await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')] as const)
  return (await Promise.all(lines)).filter(([, line]) => own.test(line)).map(([pid]) => Number(pid))
}

function record(path: string, more: Partial<typeof DEFAULTS> = {}, to = folder): Recorder {
  const { width, height, hasAudio, frameRate } = { ...DEFAULTS, ...more }
  const job: RecordingJob = {
    recordingId: 'recording',
    part: 1,
    sessionId: 'room',
    roomId: 'room',
    epoch: 1,
    hasAudio,
    hasVideo: true,
    output: {
      kind: 'CUSTOM',
      page: {
        url: site.origin + path,
        token: TOKEN,
        cookie: { name: 'layout', value: 'v1', path: '/' },
      },
      width,
      height,
      frameRate,
      shmSize: 134_217_728,
    },
    delivery: { folder: '', proof: { file: '', content: '' }, url: '', token: '' },
  }
  const room = stack.service.rooms.get(roomId())
  const recorder = createCustomRecorder({
    job,
    room,
    folder: to,
    clock: serviceClock,
    onEnded: (failure) => ends.push(failure),
  })
  recorders.push(recorder)
  return recorder
}

it('the picture and the sound of a page are recorded, and no command line shows its token', async () => {
  const recorder = record('/page')
  await recorder.start()
  expect((await commandLines()).filter((line) => line.includes('tok_HIDDEN'))).toEqual([])
  const path = join(folder, 'composed.mp4')
  const places = [
    [40, 90],
    [280, 90],
  ] as const
  await until('the page is seen', async () => (await coloursAt(path, SIZE, places)).at(-1)?.join() === 'red,blue')
  const [file, ...others] = await recorder.stop()
  expect([file, others]).toEqual([
    expect.objectContaining({ name: 'composed.mp4', hasAudio: true, hasVideo: true }),
    [],
  ])
  const { duration, streams } = await probe(path)
  expect(streams).toMatchObject([{ codec: 'h264', ...SIZE }, { codec: 'aac' }])
  expect(streams[0]!.fps).toBeCloseTo(15, 0)
  expect(duration).toBeGreaterThan(0.9)
  expect(ends).toEqual([])
  const reported = new URLSearchParams(site.hits.find((hit) => hit.path.startsWith('/joined'))?.path.split('?')[1])
  expect(Object.fromEntries(reported)).toEqual({ token: TOKEN, width: '320', height: '180' })
  expect(site.hits.find((hit) => hit.path === '/page')?.cookie).toBe('layout=v1')
})

// At 5 frames per second a picture lasts 200 ms.
it.each([
  [25, 150],
  [5, 350],
])(
  'picture and sound at %s frames per second are in sync, and complete up to the stop',
  async (frameRate, mostApartMs) => {
    const recorder = record('/clapper', { frameRate })
    await recorder.start()
    // The duration of the recording, not a wait for a condition.
    await pause(CLAPPER_MS)
    const [file] = await recorder.stop()
    const path = join(folder, 'composed.mp4')
    const [{ duration }, { beeps, after }] = [await probe(path), await beepsAndFlashes(path)]
    console.log(`beeps after flashes, ms: ${after.join(' ')}`)
    expect(beeps.length).toBeGreaterThanOrEqual(CLAPPER_MS / 1_000 - 1)
    expect(after.length).toBeGreaterThan(CLAPPER_MS / 2_000)
    expect(Math.abs(median(after))).toBeLessThan(mostApartMs)
    expect(duration * 1_000).toBeGreaterThan(file!.endedAt - file!.startedAt - MOST_LOST_MS)
  },
)

it.each([
  ['that is not there', '/missing', 'was answered 404'],
  ['that is moved to another host', '/elsewhere', 'cannot be opened'],
  ['that says why it cannot join', '/refuses', 'no layout today'],
])('the start fails for a page %s', async (_, path, why) => {
  const recorder = record(path)
  await expect(recorder.start()).rejects.toMatchObject({ code: 'LAUNCH_FAILED', message: expect.stringContaining(why) })
  expect(await recorder.stop()).toEqual([])
  expect(canary.hits).toEqual([])
})

it('a page with a missing page in one of its frames is recorded', async () => {
  await record('/frames', { hasAudio: false }).start()
  expect(site.hits.map(({ path }) => path)).toEqual(expect.arrayContaining(['/missing', '/loaded']))
  expect(ends).toEqual([])
})

it('a page cannot navigate to another origin, and pages in its frames do not get the token', async () => {
  await record('/strays').start()
  await until('it has tried', () => site.hits.some(({ path }) => path === '/stayed'))
  await until('the frame has looked', () => site.hits.some(({ path }) => path.startsWith('/given')))
  expect(site.hits.find(({ path }) => path.startsWith('/given'))?.path).toBe('/given?undefined')
  expect([canary.hits, ends]).toEqual([[], []])
})

it('a page that has left the session ends the part and keeps its file', async () => {
  const recorder = record('/leaves', { hasAudio: false })
  await recorder.start()
  await until('the end is reported', () => ends.length > 0)
  expect(ends).toEqual([expect.stringContaining('networkDisconnect')])
  const [file] = await recorder.stop()
  expect(file).toMatchObject({ hasAudio: false, hasVideo: true })
  expect((await probe(join(folder, 'composed.mp4'))).streams).toMatchObject([{ codec: 'h264' }])
})

it.each(['chromium', 'pulseaudio'])('the part ends when %s dies, and its file is playable', async (name) => {
  const recorder = record('/page')
  await recorder.start()
  for (const pid of childrenOf(process.pid)) {
    if (readlinkSync(`/proc/${pid}/exe`).endsWith(`/${name}`)) process.kill(pid, 'SIGKILL')
  }
  await until('the end is reported', () => ends.length > 0)
  expect(ends).toEqual([expect.any(String)])
  const [file] = await recorder.stop()
  expect(file?.size).toBeGreaterThan(0)
  expect((await probe(join(folder, 'composed.mp4'))).duration).toBeGreaterThan(0)
})

it.each([
  ['ffmpeg', 'ffmpeg wrote nothing'],
  ['Xvfb', 'ffmpeg wrote nothing'],
  ['pulseaudio', 'ffmpeg wrote nothing'],
  ['chromium', 'chromium wrote nothing'],
])(
  'a suspended %s ends the part, and the file up to there plays',
  async (name, why) => {
    const recorder = record('/page')
    await recorder.start()
    for (const pid of childrenOf(process.pid)) {
      if (readlinkSync(`/proc/${pid}/exe`).endsWith(`/${name}`)) process.kill(pid, 'SIGSTOP')
    }
    await until('the end is reported', () => ends.length > 0, 60_000)
    expect(ends).toEqual([expect.stringContaining(why)])
    const [file] = await recorder.stop()
    expect(file?.size).toBeGreaterThan(0)
    expect((await probe(join(folder, 'composed.mp4'))).duration).toBeGreaterThan(0)
  },
  90_000,
)

it('a crash of the page ends the part, and its file is playable', async () => {
  const recorder = record('/page')
  await recorder.start()
  for (const pid of await renderers()) process.kill(pid, 'SIGKILL')
  await until('the end is reported', () => ends.length > 0)
  expect(ends).toEqual(['the page crashed'])
  const [file] = await recorder.stop()
  expect(file?.size).toBeGreaterThan(0)
  expect((await probe(join(folder, 'composed.mp4'))).duration).toBeGreaterThan(0)
})

it('a page that hangs ends the part, and its file is playable', async () => {
  const recorder = record('/hangs')
  await recorder.start()
  await until('the end is reported', () => ends.length > 0, 60_000)
  expect(ends).toEqual(['the page hangs'])
  await recorder.stop()
  expect((await probe(join(folder, 'composed.mp4'))).duration).toBeGreaterThan(0)
}, 90_000)

it('a dialog of a page is accepted, and the recording continues', async () => {
  await record('/asks').start()
  await until('the dialogs are closed', () => site.hits.some(({ path }) => path === '/answered?,true'))
  expect(ends).toEqual([])
})

it('a page that goes to another one ends the part, unless the other one joins too', async () => {
  const other = await mkdtemp(join(folder, 'reloads-'))
  await record('/reloads', { hasAudio: false }, other).start()
  await until('the page has joined again', () => site.hits.some(({ path }) => path === '/rejoined'))
  await record('/goes', { hasAudio: false }).start()
  await until('the end is reported', () => ends.length > 0, 60_000)
  expect(ends).toEqual([`the page went to ${site.origin}/gone`])
}, 90_000)

it('the end of the room is reported', async () => {
  await record('/stays', { hasAudio: false, width: 101, height: 1999 }).start()
  stack.service.rooms.get(roomId()).close()
  expect(ends).toEqual([undefined])
})

it('a stop during the start leaves nothing behind', async () => {
  const recorder = record('/page')
  const starting = recorder.start().catch(({ code }: { code: string }) => code)
  await until('the browser runs', async () =>
    (await commandLines()).some((line) => new RegExp(`${SCRATCH}.*profile`).test(line)),
  )
  expect(await recorder.stop()).toEqual([])
  expect(await starting).toBe('LAUNCH_FAILED')
})

it('a stop while the page request is unanswered leaves nothing behind', async () => {
  const recorder = record('/silent')
  const starting = recorder.start().catch(({ code }: { code: string }) => code)
  await until('the page is asked for', () => site.hits.some(({ path }) => path === '/silent'))
  expect(await recorder.stop()).toEqual([])
  expect(await starting).toBe('LAUNCH_FAILED')
})
