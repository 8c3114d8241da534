import { open, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ServiceError, type RecordedFile } from '@session-service/contract'
import type { types } from 'mediasoup'
import { Feed, type FeedPorts } from '../../tap/plain-rtp-tap.js'
import type { Stream } from '../../rooms/stream.js'
import { STALL_LIMITS } from '../supervision/stall.js'
import { Supervisor } from '../supervision/supervisor.js'
import { ChildProgram, type KillStep, type ReferenceClock } from '@session-service/server-kit'
import { cutEnd } from '../recorder/cut-end.js'
import { sendRtcpBye } from './rtcp-bye.js'
import { hasOpen, releasePorts, takePorts } from './ports.js'
import { sdpOf } from './sdp.js'

const ATTEMPTS = 8
const PORT_IN_USE = /address already in use/i
/** How long a program may take until its ports are open; where that is not seen, how long it is given. */
const OPEN_MS = 10_000
const UNSEEN_OPEN_MS = 500
const LOOK_MS = 10
/** How long the sound waits for the first picture. */
const PICTURE_MS = 1_000
/** Between two looks at what is sent, and two requests for a key frame that did not come. */
const WATCH_MS = 1_000

/** A file that does not grow for so long though packets come may wait for a key frame. */
const KEY_FRAME_AFTER_MS = 2_000

const GOODBYE_MS = 100
/** A goodbye ends it with all it has; signals are for one that did not hear, and cost the last cluster. */
const AFTER_GOODBYE: readonly KillStep[] = [
  { afterMs: 1_000, signal: 'SIGINT' },
  { afterMs: 1_300, signal: 'SIGINT' },
  { afterMs: 6_000, signal: 'SIGKILL' },
]
const CLUSTER = Buffer.from('1f43b675', 'hex')
const LONGEST_HEAD = 64 * 1024

/** Takes what comes as it is; a cluster a second, none waits for a track that is silent. */
const INPUT = (
  '-hide_banner -loglevel error -nostdin -y -protocol_whitelist file,udp,rtp -localaddr 127.0.0.1 ' +
  '-analyzeduration 10000000 -probesize 10000000 -fpsprobesize 0 -max_delay 200000 -buffer_size 2000000 -i'
).split(' ')
const OUTPUT = '-map 0 -c copy -flush_packets 1 -cluster_time_limit 1000 -max_interleave_delta 500000'.split(' ')

export interface StreamFileOptions {
  stream: Stream
  kinds: readonly types.MediaKind[]
  folder: string
  /** Without an extension. */
  name: string
  clock: Pick<ReferenceClock, 'now'>
  /** The program ended though nobody asked it to. */
  onFailed: (failure: string) => void
}

/** The stream as it was sent, from some moment on, in one file. */
export class StreamFile {
  #startedAt: number | undefined
  #lastPacketAt: number | undefined
  #packets = 0
  #videoBegun = false
  readonly #supervisor: Supervisor

  private constructor(
    private readonly options: StreamFileOptions,
    private readonly feed: Feed,
    private readonly ports: readonly FeedPorts[],
    private readonly program: ChildProgram,
    private readonly path: string,
  ) {
    this.#videoBegun = !options.kinds.includes('video')
    this.#supervisor = new Supervisor(
      {
        program: 'stream_recorder',
        look: (silentMs) => this.#activity(silentMs),
        onStalled: (why) => program.kill(why),
      },
      STALL_LIMITS,
      WATCH_MS,
    )
    void program.exited.then(() => this.#supervisor.stop())
    void program.exited.then(({ failure }) => failure !== undefined && options.onFailed(failure))
  }

  /** Begins to record; there are bytes in the file when the stream has sent enough. */
  static async open(options: StreamFileOptions): Promise<StreamFile> {
    for (let attempt = 1; ; attempt += 1) {
      const feed = await Feed.open(options.stream, options.kinds)
      const ports = feed.tracks.map(() => takePorts())
      const path = join(options.folder, `${options.name}.${extensionOf(feed)}`)
      const program = await recordTo(path, feed, ports)
      const failure = await opened(program, ports)
      if (failure === undefined) {
        const file = new StreamFile(options, feed, ports, program, path)
        return await file.#begin().then(
          () => file,
          async (error: unknown) => {
            await file.close()
            throw error
          },
        )
      }
      feed.close()
      await program.stop()
      ports.forEach(releasePorts)
      await rm(sdpPath(path), { force: true })
      if (attempt < ATTEMPTS && PORT_IN_USE.test(failure)) continue
      throw new ServiceError('LAUNCH_FAILED', `stream ${options.stream.id} can not be recorded: ${failure}`)
    }
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

  /** As it is known now. */
  get described(): RecordedFile {
    const { stream, kinds } = this.options
    const { clientData, serverData } = stream.peer.about
    const hasVideo = kinds.includes('video')
    const startedAt = this.#startedAt ?? this.options.clock.now()
    return {
      name: basename(this.path),
      size: 0,
      hasAudio: kinds.includes('audio'),
      hasVideo,
      startedAt,
      endedAt: Math.max(this.#lastPacketAt ?? startedAt, startedAt),
      streamId: stream.id,
      connectionId: stream.peer.connectionId,
      clientData,
      serverData,
      ...(hasVideo && { typeOfVideo: stream.typeOfVideo }),
    }
  }

  /** Undefined when nothing has come. */
  async close(): Promise<RecordedFile | undefined> {
    await this.#look().catch(() => undefined)
    const ended = this.program.stop(AFTER_GOODBYE)
    const goodbye = setInterval(() => sayGoodbye(this.feed, this.ports), GOODBYE_MS)
    if (this.program.running) sayGoodbye(this.feed, this.ports)
    const { signal } = await ended
    clearInterval(goodbye)
    this.feed.close()
    this.ports.forEach(releasePorts)
    await rm(sdpPath(this.path), { force: true })
    return (await hasMedia(this.path)) ? this.#finished(signal !== null) : undefined
  }

  async #finished(isCut: boolean): Promise<RecordedFile> {
    const { size, mtimeMs } = await stat(this.path)
    const file = { ...this.described, size }
    return isCut ? { ...file, endedAt: cutEnd(file, mtimeMs, this.options.clock) } : file
  }

  /**
   * Both tracks at the same moment, that of the first picture: until the worker's first reports come, up to a second
   * later, the program takes the first packets of both to be in step. A picture that does not come is not waited for.
   */
  async #begin(): Promise<void> {
    const { feed, ports } = this
    const portsOf = (kind: types.MediaKind): FeedPorts | undefined =>
      ports[feed.tracks.findIndex((track) => track.kind === kind)]
    const pictured = Promise.withResolvers<void>()
    await feed.onBegun(({ track }) => {
      this.#startedAt ??= this.options.clock.now()
      if (track.kind === 'audio') return
      this.#videoBegun = true
      pictured.resolve()
    })
    const [video, audio] = [portsOf('video'), portsOf('audio')]
    if (video) await feed.start({ video })
    if (!audio) return
    if (video) await Promise.race([pictured.promise, pause(PICTURE_MS)])
    await feed.start({ audio })
  }

  /** The last packet came since the look before, if any came; at the end of a stream its moment is exact. */
  async #look(): Promise<void> {
    if (!this.#videoBegun) await this.feed.requestKeyFrame()
    const packets = await this.#sent()
    if (packets > this.#packets) this.#lastPacketAt = this.options.clock.now()
    this.#packets = packets
  }

  /** It owes nothing before the first packets of all its tracks: a picture cannot begin without a key frame. */
  async #activity(silentMs: number): Promise<{ output: number; input: number } | undefined> {
    await this.#look()
    // After a loss pictures are dropped up to the next key frame, which a publisher sends only on request.
    if (silentMs >= KEY_FRAME_AFTER_MS) await this.feed.requestKeyFrame()
    if (!this.#videoBegun || this.#startedAt === undefined) return undefined
    return { output: await this.#size(), input: this.#packets }
  }

  async #sent(): Promise<number> {
    const counts = await Promise.all(this.kinds.map((kind) => this.feed.packets(kind).catch(() => 0)))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  #size(): Promise<number> {
    return stat(this.path).then(
      ({ size }) => size,
      () => 0,
    )
  }
}

/** Whether there is more in a Matroska file than its head. */
async function hasMedia(path: string): Promise<boolean> {
  const file = await open(path).catch(() => undefined)
  if (!file) return false
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LONGEST_HEAD), 0, LONGEST_HEAD, 0)
    return buffer.subarray(0, bytesRead).includes(CLUSTER)
  } finally {
    await file.close()
  }
}

function sayGoodbye(feed: Feed, ports: readonly FeedPorts[]): void {
  feed.tracks.forEach(({ ssrc }, at) => {
    const own = ports[at]
    if (own) sendRtcpBye(ssrc, own.rtcp)
  })
}

const sdpPath = (path: string): string => `${path}.sdp`

async function recordTo(path: string, feed: Feed, ports: readonly FeedPorts[]): Promise<ChildProgram> {
  const tracks = feed.tracks.flatMap((track, at) => {
    const own = ports[at]
    return own ? [{ track, ports: own }] : []
  })
  try {
    await writeFile(sdpPath(path), sdpOf(tracks))
    return new ChildProgram({ command: 'ffmpeg', args: [...INPUT, sdpPath(path), ...OUTPUT, path] })
  } catch (error) {
    feed.close()
    ports.forEach(releasePorts)
    throw error
  }
}

const extensionOf = (feed: Feed): 'webm' | 'mkv' => {
  const codec = feed.track('video')?.codec.toUpperCase()
  return codec === undefined || codec === 'VP8' || codec === 'VP9' ? 'webm' : 'mkv'
}

/** Resolves once the program listens, or with why it does not. */
async function opened(program: ChildProgram, ports: readonly FeedPorts[]): Promise<string | undefined> {
  const all = ports.flatMap(({ rtp, rtcp }) => [rtp, rtcp])
  const until = performance.now() + OPEN_MS
  while (program.running && program.pid !== undefined) {
    const isOpen = await hasOpen(program.pid, all)
    if (isOpen) return undefined
    if (isOpen === undefined) {
      const ended = await Promise.race([program.exited, pause(UNSEEN_OPEN_MS)])
      return ended?.failure
    }
    if (performance.now() > until) return 'the program does not listen'
    await pause(LOOK_MS)
  }
  const { failure = 'it was ended' } = await program.exited
  return [failure, ...program.lastLines].join('\n')
}
