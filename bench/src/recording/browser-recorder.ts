import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { findChromium, until } from '@session-service/testing'
import { AUDIO_KBPS, type ActiveRecording, VIDEO, type Recorder } from './recorder.js'
import { whenDecodable, whenWritten } from './watch-file.js'

const SIZE = `${VIDEO.width}x${VIDEO.height}`
const SINK = 'recorded'
const STOP_MS = 10_000
const FRAGMENT_US = 1_000_000
/** Size of the rate control buffer in seconds, as in the native composition. */
const BUFFER_SHARE = 0.6

const X264 = 'cabac=1:8x8dct=1:deblock=0,0:aq-mode=1:aq-strength=0.5'

/** The child processes of a recorder; they end in the reverse order of their start. */
class ProcessGroup {
  readonly folder = mkdtempSync(join(tmpdir(), 'browser-recorder-'))
  readonly children: ChildProcess[] = []

  start(
    command: string,
    args: readonly string[],
    env: Record<string, string> = {},
    extra: 'pipe' | 'ignore' = 'ignore',
  ) {
    const child = spawn(command, args, {
      stdio: ['ignore', 'ignore', 'ignore', extra],
      env: { ...process.env, HOME: this.folder, XDG_RUNTIME_DIR: this.folder, ...env },
    })
    // A failed start shows as a timeout of the step that waits for this process.
    child.on('error', () => undefined)
    this.children.push(child)
    return child
  }

  get pids(): number[] {
    return this.children.flatMap(({ pid }) => pid ?? [])
  }

  async end(): Promise<void> {
    for (const child of this.children.toReversed()) await terminate(child, 'SIGTERM')
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

async function terminate(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'exit')
  child.kill(signal)
  const killTimer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(killTimer)
}

/** Starts an X server and returns the display number that it writes to file descriptor 3. */
async function startDisplay(processes: ProcessGroup): Promise<string> {
  const server = processes.start(
    'Xvfb',
    ['-displayfd', '3', '-screen', '0', `${SIZE}x24`, '-nolisten', 'tcp'],
    {},
    'pipe',
  )
  const [line] = (await once(createInterface(server.stdio[3] as Readable), 'line')) as [string]
  return `:${line.trim()}`
}

async function startSound(processes: ProcessGroup): Promise<string> {
  const socket = join(processes.folder, 'sound')
  const modules = [
    `module-null-sink sink_name=${SINK}`,
    `module-native-protocol-unix auth-anonymous=1 socket=${socket}`,
  ]
  const loads = modules.flatMap((module) => ['-L', module])
  processes.start('pulseaudio', ['-n', '--daemonize=no', '--exit-idle-time=-1', '--use-pid-file=no', ...loads])
  await until('the sound server listens', async () => (await stat(socket).catch(() => undefined))?.isSocket())
  return `unix:${socket}`
}

const browserArguments = (profile: string, page: string): string[] => [
  '--no-sandbox',
  '--kiosk',
  `--app=${page}`,
  `--user-data-dir=${profile}`,
  `--window-size=${VIDEO.width},${VIDEO.height}`,
  '--window-position=0,0',
  '--disable-gpu',
  '--autoplay-policy=no-user-gesture-required',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-features=WebRtcHideLocalIpsWithMdns,Translate',
]

/** Arguments of ffmpeg with the encoder settings of the native composition. */
function grabArguments(display: string, file: string): string[] {
  const { frameRate, kbps } = VIDEO
  const picture = [
    '-f',
    'x11grab',
    '-draw_mouse',
    '0',
    '-framerate',
    String(frameRate),
    '-video_size',
    SIZE,
    '-i',
    display,
  ]
  const sound = ['-f', 'pulse', '-i', `${SINK}.monitor`]
  const video =
    `-c:v libx264 -preset ultrafast -tune zerolatency -x264-params ${X264} -pix_fmt yuv420p -threads 1 -g ${2 * frameRate} ` +
    `-b:v ${kbps}k -maxrate ${kbps}k -bufsize ${kbps * BUFFER_SHARE}k`
  const audio = `-c:a aac -aac_coder fast -b:a ${AUDIO_KBPS}k -ar 48000 -ac 2`
  const container = `-movflags frag_keyframe+empty_moov -frag_duration ${FRAGMENT_US} -flush_packets 1 -f mp4`
  const queue = ['-thread_queue_size', '512']
  return [
    '-v',
    'error',
    '-nostdin',
    '-y',
    ...queue,
    ...picture,
    ...queue,
    ...sound,
    ...`${video} ${audio} ${container}`.split(' '),
    file,
  ]
}

/**
 * Records with a browser on a virtual display and a virtual sound card, both of which ffmpeg grabs. `invite` returns
 * the page's address; `playing` resolves once the page plays all streams.
 */
export function browserRecorder(invite: () => Promise<{ page: string; playing: Promise<unknown> }>): Recorder {
  return { name: 'browser', start: () => start(invite) }
}

async function start(invite: () => Promise<{ page: string; playing: Promise<unknown> }>): Promise<ActiveRecording> {
  const began = performance.now()
  const processes = new ProcessGroup()
  try {
    const [display, sound, { page, playing }] = await Promise.all([
      startDisplay(processes),
      startSound(processes),
      invite(),
    ])
    const env = { DISPLAY: display, PULSE_SERVER: sound }
    processes.start(findChromium(), browserArguments(join(processes.folder, 'profile'), page), env)
    await playing
    const file = join(processes.folder, 'grabbed.mp4')
    const grabber = processes.start('ffmpeg', grabArguments(display, file), env)
    const bytes = await whenWritten(file)
    const decodable = await whenDecodable(file)
    return {
      pids: processes.pids,
      isOfNode: false,
      bytesAfterMs: bytes - began,
      decodableAfterMs: decodable - began,
      stop: async () => {
        await terminate(grabber, 'SIGINT')
        return file
      },
      abort: () => processes.end(),
    }
  } catch (error) {
    await processes.end()
    throw error
  }
}
