import { open, stat } from 'node:fs/promises'
import { Supervisor } from '../supervision/supervisor.js'
import type { Size } from '../composed/layout.js'
import { AUDIO_KBPS, videoKbps } from '../composed/quality.js'
import { ChildProgram, type KillStep } from '@session-service/server-kit'
import { SINK } from './screen.js'
import { waitFor } from './wait.js'

const START_TIMEOUT_MS = 15_000
const HEADER_BYTES = 64 * 1024
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
}

/** Records a screen and its audio into a fragmented file, which is playable after each second. */
export class Grabber {
  readonly #program: ChildProgram

  constructor(private readonly options: GrabOptions) {
    const { program: command, env } = options
    this.#program = new ChildProgram({ command, args: grabArguments(options), env })
  }

  get failed(): Promise<string | undefined> {
    return this.#program.exited.then(({ failure }) => failure)
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
      sample: async () => ({ output: (await stat(file)).size }),
      onStalled: (why) => this.#program.kill(why),
    })
    void this.#program.exited.then(() => supervisor.stop())
  }
}

/** Drops the last line of an odd side, which cannot be encoded. */
function grabArguments({ display, screen, frameRate, hasAudio, file }: Omit<GrabOptions, 'program' | 'env'>): string[] {
  const size = { width: screen.width & ~1, height: screen.height & ~1 }
  const kbps = videoKbps(size, frameRate)
  const picture = `-f x11grab -draw_mouse 0 -framerate ${frameRate} -video_size ${size.width}x${size.height}`
  const sound = hasAudio ? ` -thread_queue_size 1024 -f pulse -i ${SINK}.monitor` : ''
  const video = `-c:v libx264 -preset superfast -tune zerolatency -pix_fmt yuv420p -r ${frameRate} -g ${frameRate * 2}`
  const rate = `-b:v ${kbps}k -maxrate ${kbps * 2}k -bufsize ${kbps * 2}k`
  const audio = hasAudio ? ` -c:a aac -aac_coder fast -b:a ${AUDIO_KBPS}k -ar 48000` : ''
  const container = '-movflags +frag_keyframe+empty_moov+default_base_moof -frag_duration 1000000 -flush_packets 1'
  const line = `-hide_banner -loglevel error -y -thread_queue_size 256 ${picture} -i ${display}${sound} ${video} ${rate}${audio} ${container}`
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
