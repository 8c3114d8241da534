import { open, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ServiceError, type RecordedFile } from '@session-service/contract'
import type { types } from 'mediasoup'
import { PlainRtpTap, type RtpPorts } from '../../tap/plain-rtp-tap.js'
import type { Stream } from '../../rooms/stream.js'
import { STALL_LIMITS } from '../supervision/stall.js'
import { Supervisor } from '../supervision/supervisor.js'
import { ChildProgram, sleep, type KillStep, type ReferenceClock } from '@session-service/server-kit'
import { cutEnd } from '../recorder/cut-end.js'
import { sendRtcpBye } from './rtcp-bye.js'
import { hasOpen, releasePorts, allocatePorts } from './ports.js'
import { sdpOf } from './sdp.js'

const ATTEMPTS = 8
const PORT_IN_USE = /address already in use/i
/** The timeout until the program has opened its ports, and the delay on systems where that cannot be observed. */
const OPEN_MS = 10_000
const UNSEEN_OPEN_MS = 500
const POLL_MS = 10
/** How long the audio of a first file waits for the first picture. */
const FIRST_PICTURE_MS = 1_000
/** The interval of samples, and of key frame requests until a key frame arrives. */
const SAMPLE_MS = 1_000

/** A file that does not grow for this long although packets arrive may wait for a key frame. */
const KEY_FRAME_AFTER_MS = 2_000

const BYE_INTERVAL_MS = 100
/** After an RTCP BYE the file is complete; a signal, for a program that missed it, loses the last cluster. */
const AFTER_BYE: readonly KillStep[] = [
  { afterMs: 1_000, signal: 'SIGINT' },
  { afterMs: 1_300, signal: 'SIGINT' },
  { afterMs: 6_000, signal: 'SIGKILL' },
]
const CLUSTER = Buffer.from('1f43b675', 'hex')
/** The start of the codec id of a video track. */
const VIDEO_CODEC = /V_(?:VP|MPEG)/
const MAX_HEADER_BYTES = 64 * 1024

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

interface StreamFileOptions {
  stream: Stream
  kinds: readonly types.MediaKind[]
  folder: string
  /** Without an extension. */
  name: string
  clock: Pick<ReferenceClock, 'now'>
  /** Audio waits for the first picture until this resolves, and then there is no file. By default it waits 1 s. */
  interrupted?: Promise<void> | undefined
  /** Called when the program exits without having been stopped. */
  onFailed: () => void
  /** Called each second while `lacksVideo`. */
  onVideoMissing: () => void
}

/** Records a stream, from now on, into one file without transcoding. */
export class StreamFile {
  #startedAt: number | undefined
  #lastPacketAt: number | undefined
  #packets = 0
  #videoBegun = false
  /** The audio began without it, and the file gets no picture. */
  #isVideoLeftOut = false
  /** Undefined until the file has media. */
  #hasVideo: boolean | undefined
  #failure: string | undefined
  readonly #supervisor: Supervisor

  private constructor(
    private readonly options: StreamFileOptions,
    private readonly tap: PlainRtpTap,
    private readonly ports: readonly RtpPorts[],
    private readonly program: ChildProgram,
    private readonly path: string,
  ) {
    this.#videoBegun = !options.kinds.includes('video')
    this.#supervisor = new Supervisor(
      {
        program: 'stream_recorder',
        sample: (silentMs) => this.#activity(silentMs),
        onStalled: (why) => program.kill(why),
      },
      STALL_LIMITS,
      SAMPLE_MS,
    )
    void program.exited.then(({ failure }) => this.#exited(failure))
  }

  /** Starts recording; the file has bytes once the stream has sent enough. Undefined if it was interrupted before. */
  static async open(options: StreamFileOptions): Promise<StreamFile | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const tap = await PlainRtpTap.open(options.stream, options.kinds)
      const ports = tap.tracks.map(() => allocatePorts())
      const path = join(options.folder, `${options.name}.${extensionOf(tap)}`)
      const program = await recordTo(path, tap, ports)
      const failure = await opened(program, ports)
      if (failure === undefined) {
        const file = new StreamFile(options, tap, ports, program, path)
        let isBegun = false
        try {
          isBegun = await file.#begin()
          return isBegun ? file : undefined
        } finally {
          if (!isBegun) await file.close()
        }
      }
      tap.close()
      await program.stop()
      ports.forEach(releasePorts)
      await rm(sdpPath(path), { force: true })
      if (attempt < ATTEMPTS && PORT_IN_USE.test(failure)) continue
      throw new ServiceError('LAUNCH_FAILED', `stream ${options.stream.id} cannot be recorded: ${failure}`)
    }
  }

  /** Whether other tracks of the stream are forwarded by now. */
  get isReplaced(): boolean {
    return this.tap.isReplaced
  }

  /** Whether pictures arrive, or may, that are not in the file, because it began without one. */
  get lacksVideo(): boolean {
    return this.#isVideoLeftOut || (this.kinds.includes('video') && this.#videoBegun && this.#hasVideo === false)
  }

  /** Why the program ended without having been stopped. */
  get failure(): string | undefined {
    return this.#failure
  }

  get kinds(): readonly types.MediaKind[] {
    return this.options.kinds
  }

  /** The time of its first packet; undefined before that. */
  get startedAt(): number | undefined {
    return this.#startedAt
  }

  async hasBytes(): Promise<boolean> {
    return (await this.#size()) > 0
  }

  /** Whether the publisher sends anything. */
  async isSending(): Promise<boolean> {
    return (await this.#sent()) > 0
  }

  /** The description of the file as known so far. */
  get described(): RecordedFile {
    const { stream, kinds } = this.options
    const { clientData, serverData } = stream.publisher.metadata
    const hasVideo = kinds.includes('video') && (this.#hasVideo ?? !this.#isVideoLeftOut)
    const startedAt = this.#startedAt ?? this.options.clock.now()
    return {
      name: basename(this.path),
      size: 0,
      hasAudio: kinds.includes('audio'),
      hasVideo,
      startedAt,
      endedAt: Math.max(this.#lastPacketAt ?? startedAt, startedAt),
      streamId: stream.id,
      connectionId: stream.publisher.connectionId,
      clientData,
      serverData,
      ...(hasVideo && { typeOfVideo: stream.typeOfVideo }),
    }
  }

  /** Undefined when no media has arrived. */
  async close(): Promise<RecordedFile | undefined> {
    await this.#update().catch(() => undefined)
    const ended = this.program.stop(AFTER_BYE)
    const byes = setInterval(() => sendByes(this.tap, this.ports), BYE_INTERVAL_MS)
    if (this.program.running) sendByes(this.tap, this.ports)
    const { signal } = await ended
    clearInterval(byes)
    this.tap.close()
    this.ports.forEach(releasePorts)
    await rm(sdpPath(this.path), { force: true })
    return (await this.#readHeader()) ? this.#finished(signal !== null) : undefined
  }

  #exited(failure: string | undefined): void {
    this.#supervisor.stop()
    if (failure === undefined) return
    this.#failure = failure
    this.options.onFailed()
  }

  /** Whether the file has more than a header. */
  async #readHeader(): Promise<boolean> {
    const header = await headerOf(this.path)
    const at = header.indexOf(CLUSTER)
    if (at >= 0) this.#hasVideo = VIDEO_CODEC.test(header.toString('latin1', 0, at))
    return at >= 0
  }

  async #finished(isCut: boolean): Promise<RecordedFile> {
    const { size, mtimeMs } = await stat(this.path)
    const file = { ...this.described, size }
    return isCut ? { ...file, endedAt: cutEnd(file, mtimeMs, this.options.clock) } : file
  }

  /**
   * Starts both tracks at the first picture: until the first sender reports, up to a second later, ffmpeg assumes that
   * the first packets of both tracks are simultaneous. Resolves with false if it was interrupted before.
   */
  async #begin(): Promise<boolean> {
    const { tap, ports } = this
    const portsOf = (kind: types.MediaKind): RtpPorts | undefined =>
      ports[tap.tracks.findIndex((track) => track.kind === kind)]
    const firstPicture = Promise.withResolvers<void>()
    await tap.onFirstPacket(({ track }) => {
      this.#startedAt ??= this.options.clock.now()
      if (track.kind === 'audio') return
      this.#videoBegun = true
      firstPicture.resolve()
    })
    const [video, audio] = [portsOf('video'), portsOf('audio')]
    if (video) await tap.start({ video })
    if (!audio) return true
    if (video && !(await this.#untilPicture(firstPicture.promise))) return false
    await tap.start({ audio })
    return true
  }

  /** Resolves with whether the audio may begin. */
  async #untilPicture(picture: Promise<void>): Promise<boolean> {
    const { interrupted, stream } = this.options
    await Promise.race([picture, interrupted ?? sleep(FIRST_PICTURE_MS)])
    if (!interrupted) {
      if (!this.#videoBegun && this.tap.hasRareKeyFrames) await this.#leaveVideoOut()
      return true
    }
    if (this.#failure === undefined) return this.#videoBegun
    throw new ServiceError('LAUNCH_FAILED', `stream ${stream.id} cannot be recorded: ${this.#failure}`)
  }

  /** The next picture may be seconds away, and ffmpeg would date it to the first packet of the audio. */
  async #leaveVideoOut(): Promise<void> {
    await this.tap.pause('video')
    this.#isVideoLeftOut = true
  }

  /** Dates the last packet to now if packets have arrived since the last sample; exact at the end of a stream. */
  async #update(): Promise<void> {
    if (!this.#videoBegun) await this.tap.requestKeyFrame()
    const packets = await this.#sent()
    if (packets > this.#packets) this.#lastPacketAt = this.options.clock.now()
    this.#packets = packets
  }

  /** No output is due before the first packets of all its tracks: video cannot begin without a key frame. */
  async #activity(silentMs: number): Promise<{ output: number; input: number } | undefined> {
    await this.#update()
    if (this.#hasVideo === undefined) await this.#readHeader()
    if (this.lacksVideo) this.options.onVideoMissing()
    // After a packet loss ffmpeg drops pictures until the next key frame, which publishers send only on request.
    if (silentMs >= KEY_FRAME_AFTER_MS) await this.tap.requestKeyFrame()
    const isVideoAwaited = !this.#videoBegun && this.#hasVideo !== false
    if (isVideoAwaited || this.#startedAt === undefined) return undefined
    return { output: await this.#size(), input: this.#packets }
  }

  async #sent(): Promise<number> {
    const counts = await Promise.all(this.kinds.map((kind) => this.tap.packets(kind).catch(() => 0)))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  #size(): Promise<number> {
    return stat(this.path).then(
      ({ size }) => size,
      () => 0,
    )
  }
}

/** The header of a Matroska file and the start of its media, as far as they are written. */
async function headerOf(path: string): Promise<Buffer> {
  const file = await open(path).catch(() => undefined)
  if (!file) return Buffer.alloc(0)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

function sendByes(tap: PlainRtpTap, ports: readonly RtpPorts[]): void {
  tap.tracks.forEach(({ ssrc }, at) => {
    const own = ports[at]
    if (own) sendRtcpBye(ssrc, own.rtcp)
  })
}

const sdpPath = (path: string): string => `${path}.sdp`

async function recordTo(path: string, tap: PlainRtpTap, ports: readonly RtpPorts[]): Promise<ChildProgram> {
  const tracks = tap.tracks.flatMap((track, at) => {
    const own = ports[at]
    return own ? [{ track, ports: own }] : []
  })
  try {
    await writeFile(sdpPath(path), sdpOf(tracks))
    return new ChildProgram({ command: 'ffmpeg', args: [...INPUT, sdpPath(path), ...OUTPUT, path] })
  } catch (error) {
    tap.close()
    ports.forEach(releasePorts)
    throw error
  }
}

const extensionOf = (tap: PlainRtpTap): 'webm' | 'mkv' => {
  const codec = tap.track('video')?.codec.toUpperCase()
  return codec === undefined || codec === 'VP8' || codec === 'VP9' ? 'webm' : 'mkv'
}

/** Resolves with undefined once the program listens on its ports, otherwise with the reason of its failure. */
async function opened(program: ChildProgram, ports: readonly RtpPorts[]): Promise<string | undefined> {
  const all = ports.flatMap(({ rtp, rtcp }) => [rtp, rtcp])
  const until = performance.now() + OPEN_MS
  while (program.running && program.pid !== undefined) {
    const isOpen = await hasOpen(program.pid, all)
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
