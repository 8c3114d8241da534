import { rm, writeFile } from 'node:fs/promises'
import { ServiceError } from '@session-service/contract'
import { type ChildExit, ChildProgram, sleep, type KillStep } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import type { Stream } from '../../rooms/stream.js'
import { PlainRtpTap, type RtpPorts, type TapTrack } from '../../tap/plain-rtp-tap.js'
import { allocatePorts, hasOpen, releasePorts } from './ports.js'
import { sendRtcpBye } from './rtcp-bye.js'
import { sdpOf } from './sdp.js'

const ATTEMPTS = 8
const PORT_IN_USE = /address already in use/i
/** The timeout until the program has opened its ports, and the delay on systems where that cannot be observed. */
const OPEN_MS = 10_000
const UNSEEN_OPEN_MS = 500
const POLL_MS = 10

const BYE_INTERVAL_MS = 100
/** After an RTCP BYE the file is complete; a signal, for a program that missed it, loses the last cluster. */
const AFTER_BYE: readonly KillStep[] = [
  { afterMs: 1_000, signal: 'SIGINT' },
  { afterMs: 1_300, signal: 'SIGINT' },
  { afterMs: 6_000, signal: 'SIGKILL' },
]

/**
 * Copies without transcoding. One cluster per second, which does not wait for a silent track. The timeout for packets is
 * a day instead of 10 s: the recorder itself decides when a stream has failed. Without `-map` ffmpeg selects no video
 * whose size is still unknown after the analysis, with which no file could begin: a picture that does not arrive within
 * 3 s of audio is left out.
 */
const INPUT = (
  '-hide_banner -loglevel error -nostdin -y -protocol_whitelist file,udp,rtp -localaddr 127.0.0.1 -listen_timeout 86400 ' +
  '-analyzeduration 3000000 -probesize 10000000 -fpsprobesize 0 -max_delay 200000 -buffer_size 2000000 -i'
).split(' ')
const OUTPUT = '-c copy -flush_packets 1 -cluster_time_limit 1000 -max_interleave_delta 500000'.split(' ')

interface Input {
  track: TapTrack
  ports: RtpPorts
}

/** The ffmpeg process that copies the packets of a stream into a file, and the tap that sends them to it. */
export class CopyProgram {
  private constructor(
    readonly tap: PlainRtpTap,
    readonly path: string,
    private readonly inputs: readonly Input[],
    private readonly program: ChildProgram,
  ) {}

  /** Resolves when the program listens; nothing is sent before `tap.start`. `path` has no extension. */
  static async open(stream: Stream, kinds: readonly types.MediaKind[], path: string): Promise<CopyProgram> {
    for (let attempt = 1; ; attempt += 1) {
      const copy = await CopyProgram.#start(await PlainRtpTap.open(stream, kinds), path)
      const failure = await copy.#opened()
      if (failure === undefined) return copy
      await copy.program.stop()
      await copy.#release()
      if (attempt === ATTEMPTS || !PORT_IN_USE.test(failure))
        throw new ServiceError('LAUNCH_FAILED', `stream ${stream.id} cannot be recorded: ${failure}`)
    }
  }

  static async #start(tap: PlainRtpTap, pathWithoutExtension: string): Promise<CopyProgram> {
    const path = `${pathWithoutExtension}.${extensionOf(tap)}`
    const inputs = tap.tracks.map((track) => ({ track, ports: allocatePorts() }))
    try {
      await writeFile(sdpPath(path), sdpOf(inputs))
      const program = new ChildProgram({ command: 'ffmpeg', args: [...INPUT, sdpPath(path), ...OUTPUT, path] })
      return new CopyProgram(tap, path, inputs, program)
    } catch (error) {
      tap.close()
      releaseAll(inputs)
      throw error
    }
  }

  get exited(): Promise<ChildExit> {
    return this.program.exited
  }

  portsOf(kind: types.MediaKind): RtpPorts | undefined {
    return this.inputs.find(({ track }) => track.kind === kind)?.ports
  }

  kill(why: string): void {
    this.program.kill(why)
  }

  /** Ends the file and the tap. Returns whether a signal had to end the program, which cuts the file. */
  async close(): Promise<boolean> {
    const ended = this.program.stop(AFTER_BYE)
    const byes = setInterval(() => this.#sendByes(), BYE_INTERVAL_MS)
    if (this.program.running) this.#sendByes()
    const { signal } = await ended
    clearInterval(byes)
    await this.#release()
    return signal !== null
  }

  #sendByes(): void {
    for (const { track, ports } of this.inputs) sendRtcpBye(track.ssrc, ports.rtcp)
  }

  async #release(): Promise<void> {
    this.tap.close()
    releaseAll(this.inputs)
    await rm(sdpPath(this.path), { force: true })
  }

  /** Resolves with undefined once the program listens on its ports, otherwise with the reason of its failure. */
  async #opened(): Promise<string | undefined> {
    const { program, inputs } = this
    const ports = inputs.flatMap(({ ports: { rtp, rtcp } }) => [rtp, rtcp])
    const until = performance.now() + OPEN_MS
    while (program.running && program.pid !== undefined) {
      const isOpen = await hasOpen(program.pid, ports)
      if (isOpen) return undefined
      if (isOpen === undefined) {
        const ended = await Promise.race([program.exited, sleep(UNSEEN_OPEN_MS).then(() => undefined)])
        return ended?.failure
      }
      if (performance.now() > until) return 'the program did not open its ports'
      await sleep(POLL_MS)
    }
    const { failure = 'it was stopped' } = await program.exited
    return [failure, ...program.lastLines].join('\n')
  }
}

const sdpPath = (path: string): string => `${path}.sdp`

const releaseAll = (inputs: readonly Input[]): void => inputs.forEach(({ ports }) => releasePorts(ports))

const extensionOf = (tap: PlainRtpTap): 'webm' | 'mkv' => {
  const codec = tap.track('video')?.codec.toUpperCase()
  return codec === undefined || codec === 'VP8' || codec === 'VP9' ? 'webm' : 'mkv'
}
