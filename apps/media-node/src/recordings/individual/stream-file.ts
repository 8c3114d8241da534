import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ServiceError, type RecordedFile } from '@session-service/contract'
import { sleep, type ReferenceClock } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import type { Stream } from '../../rooms/stream.js'
import type { PlainRtpTap } from '../../tap/plain-rtp-tap.js'
import { cutEnd } from '../recorder/cut-end.js'
import { STALL_LIMITS } from '../supervision/stall.js'
import { Supervisor } from '../supervision/supervisor.js'
import { CopyProgram } from './copy-program.js'
import { hasVideoTrack } from './matroska.js'

/** How long the audio of a first file waits for the first picture. */
const FIRST_PICTURE_MS = 1_000
/** The interval of samples, and of key frame requests until a key frame arrives. */
const SAMPLE_MS = 1_000

/** A file that does not grow for this long although packets arrive may wait for a key frame. */
const KEY_FRAME_AFTER_MS = 2_000

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
  readonly #tap: PlainRtpTap

  private constructor(
    private readonly options: StreamFileOptions,
    private readonly program: CopyProgram,
  ) {
    this.#tap = program.tap
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
    const { stream, kinds, folder, name } = options
    const file = new StreamFile(options, await CopyProgram.open(stream, kinds, join(folder, name)))
    let isBegun = false
    try {
      isBegun = await file.#begin()
      return isBegun ? file : undefined
    } finally {
      if (!isBegun) await file.close()
    }
  }

  /** Whether other tracks of the stream are forwarded by now. */
  get isReplaced(): boolean {
    return this.#tap.isReplaced
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
      name: basename(this.program.path),
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
    const isCut = await this.program.close()
    return (await this.#readHeader()) ? this.#finished(isCut) : undefined
  }

  #exited(failure: string | undefined): void {
    this.#supervisor.stop()
    if (failure === undefined) return
    this.#failure = failure
    this.options.onFailed()
  }

  /** Whether the file has more than a header. */
  async #readHeader(): Promise<boolean> {
    const hasVideo = await hasVideoTrack(this.program.path)
    this.#hasVideo = hasVideo ?? this.#hasVideo
    return hasVideo !== undefined
  }

  async #finished(isCut: boolean): Promise<RecordedFile> {
    const { size, mtimeMs } = await stat(this.program.path)
    const file = { ...this.described, size }
    return isCut ? { ...file, endedAt: cutEnd(file, mtimeMs, this.options.clock) } : file
  }

  /**
   * Starts both tracks at the first picture: until the first sender reports, up to a second later, ffmpeg assumes that
   * the first packets of both tracks are simultaneous. Resolves with false if it was interrupted before.
   */
  async #begin(): Promise<boolean> {
    const { program } = this
    const firstPicture = Promise.withResolvers<void>()
    await this.#tap.onFirstPacket(({ track }) => {
      this.#startedAt ??= this.options.clock.now()
      if (track.kind === 'audio') return
      this.#videoBegun = true
      firstPicture.resolve()
    })
    const [video, audio] = [program.portsOf('video'), program.portsOf('audio')]
    if (video) await this.#tap.start({ video })
    if (!audio) return true
    if (video && !(await this.#untilPicture(firstPicture.promise))) return false
    await this.#tap.start({ audio })
    return true
  }

  /** Resolves with whether the audio may begin. */
  async #untilPicture(picture: Promise<void>): Promise<boolean> {
    const { interrupted, stream } = this.options
    await Promise.race([picture, interrupted ?? sleep(FIRST_PICTURE_MS)])
    if (!interrupted) {
      if (!this.#videoBegun && this.#tap.hasRareKeyFrames) await this.#leaveVideoOut()
      return true
    }
    if (this.#failure === undefined) return this.#videoBegun
    throw new ServiceError('LAUNCH_FAILED', `stream ${stream.id} cannot be recorded: ${this.#failure}`)
  }

  /** The next picture may be seconds away, and ffmpeg would date it to the first packet of the audio. */
  async #leaveVideoOut(): Promise<void> {
    await this.#tap.pause('video')
    this.#isVideoLeftOut = true
  }

  /** Dates the last packet to now if packets have arrived since the last sample; exact at the end of a stream. */
  async #update(): Promise<void> {
    if (!this.#videoBegun) await this.#tap.requestKeyFrame()
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
    if (silentMs >= KEY_FRAME_AFTER_MS) await this.#tap.requestKeyFrame()
    const isVideoAwaited = !this.#videoBegun && this.#hasVideo !== false
    if (isVideoAwaited || this.#startedAt === undefined) return undefined
    return { output: await this.#size(), input: this.#packets }
  }

  async #sent(): Promise<number> {
    const counts = await Promise.all(this.kinds.map((kind) => this.#tap.packets(kind).catch(() => 0)))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  #size(): Promise<number> {
    return stat(this.program.path).then(
      ({ size }) => size,
      () => 0,
    )
  }
}
