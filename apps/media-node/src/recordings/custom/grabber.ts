import { open, stat } from 'node:fs/promises'
import { Supervisor } from '../supervision/supervisor.js'
import type { Size } from '../composed/layout.js'
import { AUDIO_KBPS, videoKbps } from '../composed/quality.js'
import { ChildProgram, type KillStep } from '@session-service/server-kit'
import { SINK } from './screen.js'
import { waitFor } from './wait.js'

const START_TIMEOUT_MS = 15_000
const HEADER_BYTES = 64 * 1024
/** By which the clock of this machine may be set during a recording, ms. */
const MOST_STEP_MS = 1_000
const STOP_STEPS: readonly KillStep[] = [
  { afterMs: 4_000, signal: 'SIGINT' },
  { afterMs: 8_000, signal: 'SIGKILL' },
]

interface GrabOptions {
  program: string
  display: string
  env: Readonly<Record<string, string>>
  screen: Size
  frameRate: number
  hasAudio: boolean
  file: string
  /** The clock of this machine, ms: ffmpeg gives pictures and sound its time. */
  wallClock?: () => number
}

// oxlint-disable-next-line clock/no-wall-clock -- the inputs of ffmpeg have this time
const wallClockOfMachine = (): number => Date.now()

/** Records a screen and its audio into a fragmented file, which is playable after each second. */
export class Grabber {
  readonly #program: ChildProgram
  readonly #wallClock: () => number
  readonly #clockAhead: number
  readonly #clockSet = Promise.withResolvers<string>()

  constructor(private readonly options: GrabOptions) {
    const { program: command, env, wallClock = wallClockOfMachine } = options
    this.#wallClock = wallClock
    this.#clockAhead = this.#readClockAhead()
    this.#program = new ChildProgram({ command, args: grabArguments(options, wallClock()), env })
  }

  get failed(): Promise<string | undefined> {
    return Promise.race([this.#program.exited.then(({ failure }) => failure), this.#clockSet.promise])
  }

  /** Resolves once the file has its first fragment: the header before it has no picture. */
  async writing(signal: AbortSignal): Promise<void> {
    const { file } = this.options
    const probe = async (): Promise<true | undefined> => ((await hasFragment(file)) ? true : undefined)
    const ended = this.failed.then((failure) => Promise.reject(new Error(failure ?? 'the recording was stopped')))
    await Promise.race([ended, waitFor('the first picture of the screen', probe, { ms: START_TIMEOUT_MS, signal })])
    this.#supervise()
  }

  /** Returns whether it had to be killed. */
  async stop(): Promise<boolean> {
    const { signal } = await this.#program.stop(STOP_STEPS, 'q')
    return signal !== null
  }

  /** The program writes a fragment each second, also of a static screen. Detects a frozen X or PulseAudio server too. */
  #supervise(): void {
    const { file } = this.options
    const supervisor = new Supervisor({
      program: 'screen_recorder',
      sample: async () => {
        this.#checkClock()
        return { output: (await stat(file)).size }
      },
      onStalled: (why) => this.#program.kill(why),
    })
    void this.#program.exited.then(() => supervisor.stop())
  }

  /** How far the wall clock is ahead of the monotonic one, ms: it changes when the wall clock is set. */
  #readClockAhead(): number {
    return this.#wallClock() - performance.now()
  }

  /** A clock that is set leaves a gap in the file, or no picture until the old time is reached again. */
  #checkClock(): void {
    const stepMs = Math.round(this.#readClockAhead() - this.#clockAhead)
    if (Math.abs(stepMs) > MOST_STEP_MS) this.#clockSet.resolve(`the clock of the media node was set by ${stepMs} ms`)
  }
}

/**
 * Drops the last line of an odd side, which cannot be encoded. Both inputs have the times of the wall clock (`-copyts`):
 * ffmpeg would otherwise shift each of them to 0, although it opens the sound after the picture. Nor does it analyse the
 * picture (`-fpsprobesize 0`), which takes 20 frames.
 */
function grabArguments(options: Omit<GrabOptions, 'program' | 'env'>, begunAt: number): string[] {
  const { display, screen, frameRate, hasAudio, file } = options
  const size = { width: screen.width & ~1, height: screen.height & ~1 }
  const kbps = videoKbps(size, frameRate)
  const since = `PTS-${(begunAt / 1_000).toFixed(3)}/TB`
  const grab = '-f x11grab -fpsprobesize 0 -draw_mouse 0'
  const picture = `${grab} -framerate ${frameRate} -video_size ${size.width}x${size.height}`
  const sound = hasAudio ? ` -thread_queue_size 1024 -f pulse -i ${SINK}.monitor` : ''
  const times = `-vf setpts=${since},fps=${frameRate}:start_time=0${hasAudio ? ` -af asetpts=${since},aresample=async=1:first_pts=0` : ''}`
  const video = `-c:v libx264 -preset superfast -tune zerolatency -pix_fmt yuv420p -r ${frameRate} -g ${frameRate * 2}`
  const rate = `-b:v ${kbps}k -maxrate ${kbps * 2}k -bufsize ${kbps * 2}k`
  const audio = hasAudio ? ` -c:a aac -aac_coder fast -b:a ${AUDIO_KBPS}k -ar 48000` : ''
  const container = '-movflags +frag_keyframe+empty_moov+default_base_moof -frag_duration 1000000 -flush_packets 1'
  const line = `-hide_banner -loglevel error -y -copyts -thread_queue_size 256 ${picture} -i ${display}${sound} ${times} ${video} ${rate}${audio} ${container}`
  return [...line.split(' '), '-f', 'mp4', file]
}

async function hasFragment(file: string): Promise<boolean> {
  const handle = await open(file).catch(() => undefined)
  if (!handle) return false
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
    return buffer.subarray(0, bytesRead).includes('moof')
  } finally {
    await handle.close()
  }
}
