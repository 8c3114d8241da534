import { ServiceError, type MediaKind } from '@session-service/contract'
import { canConnect, isConnectionFailure } from './camera-connection.js'
import { cameraFailure, retryDelay, type CameraFailure } from './camera-failure.js'
import type { Burst } from './camera-lanes.js'
import { CameraProgram, type CameraAddress, type CameraEvent, type CameraOutput } from './camera-program.js'

/** With 0, the worker counts a wrap and takes everything before it for lost. */
const FIRST_SEQUENCE = 1
/** Above the last known sequence number, so that a receiver takes none of the new packets for an old one. */
const SEQUENCE_STEP = 2_000
/** The program reports each second while the camera sends, ms. */
const LEAST_SILENT_MS = 10_000
const SILENT_CHECK_MS = 2_000

/** A program without a report for this long is killed, ms: it waits for the camera itself up to the timeout. */
export const silentMs = (timeoutMs: number): number => Math.max(LEAST_SILENT_MS, 2 * timeoutMs)

/** The destination of a kind's packets; the reader adds the sequence numbers. */
export interface ReaderOutput extends Omit<CameraOutput, 'layers'> {
  ssrcs: readonly number[]
}

interface ReaderOptions {
  /** The path of the native program. */
  program: string
  /** Checks the address before each attempt. */
  address: () => Promise<CameraAddress>
  /** An attempt has found these kinds, or one more; the packets follow after `send`. */
  onTracks: (kinds: readonly MediaKind[]) => void
  /** The first packets of a kind were sent. */
  onMedia: (kind: MediaKind) => void
  /** Each second: what the attempt has sent so far, without bursts. */
  onSent: (kind: MediaKind, bytes: number) => void
  /** A burst is up to date, or there was nothing to send. */
  onBurst: (burst: Burst) => void
  /** The attempt ended; the next one follows by itself. */
  onFailure: (failure: CameraFailure) => void
}

/** Reads a camera with one program at a time, and starts it again after each failure until it is stopped. */
export class CameraReader {
  readonly #sequences = new Map<MediaKind, readonly number[]>()
  #attempt: Attempt | undefined
  #retry: NodeJS.Timeout | undefined
  #failures = 0
  #lastFailure: CameraFailure | undefined
  #isOn = false

  constructor(private readonly options: ReaderOptions) {}

  get isOn(): boolean {
    return this.#isOn
  }

  start(): void {
    if (this.#isOn) return
    this.#isOn = true
    this.#forgetFailures()
    this.#begin()
  }

  /** The streams that wait for their output are sent, or refused where their kind has none. */
  send(outputs: ReadonlyMap<MediaKind, ReaderOutput>): void {
    for (const [kind, { ssrcs, ...output }] of outputs) {
      if (!this.#attempt?.waiting.has(kind)) continue
      const last = this.#sequences.get(kind)
      const first = ssrcs.map((_, layer) => (last ? ((last[layer] ?? 0) + SEQUENCE_STEP) & 0xffff : FIRST_SEQUENCE))
      this.#sequences.set(kind, first)
      const layers = ssrcs.map((ssrc, layer) => ({ ssrc, firstSequence: first[layer] ?? FIRST_SEQUENCE }))
      this.#attempt.send(kind, { ...output, layers })
    }
    this.#attempt?.refuseOthers()
  }

  /** Sends the pictures since the last key frame, and then the live ones, on a layer of the video. */
  burst(layer: number): void {
    this.#attempt?.onVideo((program, index) => program.burst(index, layer))
  }

  /** Ends a burst. */
  rest(layer: number): void {
    this.#attempt?.onVideo((program, index) => program.rest(index, layer))
  }

  async stop(): Promise<void> {
    this.#isOn = false
    clearTimeout(this.#retry)
    const attempt = this.#attempt
    this.#attempt = undefined
    await attempt?.stop()
  }

  #begin(): void {
    const listener: AttemptListener = {
      onSequences: (kind, sequences) => this.#sequences.set(kind, sequences),
      onMedia: (kind) => {
        this.#forgetFailures()
        this.options.onMedia(kind)
      },
    }
    const attempt = new Attempt(this.options, listener, this.#lastFailure)
    this.#attempt = attempt
    void attempt.ended.then((failure) => this.#ended(attempt, failure))
  }

  #forgetFailures(): void {
    this.#failures = 0
    this.#lastFailure = undefined
  }

  #ended(attempt: Attempt, failure: CameraFailure): void {
    if (this.#attempt !== attempt) return
    this.#attempt = undefined
    this.#failures++
    this.#lastFailure = failure
    this.#retry = setTimeout(() => this.#begin(), retryDelay(this.#failures, failure.cause))
    this.options.onFailure(failure)
  }
}

interface AttemptListener {
  onSequences: (kind: MediaKind, sequences: readonly number[]) => void
  onMedia: (kind: MediaKind) => void
}

/** One run of the program. */
class Attempt {
  /** Resolves with the reason of its end; never rejects. */
  readonly ended: Promise<CameraFailure>
  /** The streams that wait for `send` or `refuse`. */
  readonly waiting = new Map<MediaKind, number>()
  readonly #kinds = new Map<number, MediaKind>()
  #isComplete = false
  #program: CameraProgram | undefined
  #failure: CameraFailure | undefined
  #isStopped = false
  #lastEventAt = performance.now()

  constructor(
    private readonly options: ReaderOptions,
    private readonly listener: AttemptListener,
    /** The reason of the end of the attempt before. */
    private readonly former: CameraFailure | undefined,
  ) {
    this.ended = this.#run()
  }

  send(kind: MediaKind, output: CameraOutput): void {
    const index = this.waiting.get(kind)
    if (index === undefined) return
    this.waiting.delete(kind)
    this.#program?.send(index, output)
  }

  refuseOthers(): void {
    for (const index of this.waiting.values()) this.#program?.refuse(index)
    this.waiting.clear()
  }

  onVideo(action: (program: CameraProgram, index: number) => void): void {
    for (const [index, kind] of this.#kinds) if (kind === 'video' && this.#program) action(this.#program, index)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#program?.stop()
  }

  async #run(): Promise<CameraFailure> {
    let address: CameraAddress
    try {
      address = await this.options.address()
    } catch (error) {
      return { cause: 'unreachable', text: error instanceof ServiceError ? error.message : 'the address is not usable' }
    }
    const { former } = this
    // A camera that is switched off for days: a connection costs much less than a start of the program.
    if (former && isConnectionFailure(former.cause) && !(await canConnect(address))) return former
    if (this.#isStopped) return cameraFailure('failed')
    const program = new CameraProgram(this.options.program, (event) => this.#handle(event))
    this.#program = program
    program.open(address)
    const check = setInterval(() => this.#checkSilence(program, silentMs(address.timeoutMs)), SILENT_CHECK_MS)
    const failure = await program.exited
    clearInterval(check)
    return this.#failure ?? { cause: 'failed', text: failure ?? cameraFailure('failed').text }
  }

  /** A program that hangs gives no sign of it. */
  #checkSilence(program: CameraProgram, limitMs: number): void {
    if (performance.now() - this.#lastEventAt < limitMs) return
    this.#failure ??= cameraFailure('timeout')
    program.kill('hangs')
  }

  #found(event: Extract<CameraEvent, { event: 'stream' | 'streams' }>): void {
    if (event.event === 'streams') this.#isComplete = true
    else {
      this.#kinds.set(event.index, event.kind)
      this.waiting.set(event.kind, event.index)
    }
    if (this.#isComplete) this.options.onTracks([...this.#kinds.values()])
  }

  #handle(event: CameraEvent): void {
    this.#lastEventAt = performance.now()
    if (this.#isStopped) return
    if (event.event === 'stream' || event.event === 'streams') return this.#found(event)
    if (event.event === 'ended') this.#failure = { cause: 'failed', text: 'the camera has ended its stream' }
    if (event.event === 'error') this.#failure = cameraFailure(event.cause, event.codec)
    if (event.event === 'burst') this.options.onBurst(event)
    if (event.event !== 'media' && event.event !== 'sent') return
    const kind = this.#kinds.get(event.index)
    if (kind === undefined) return
    if (event.event === 'media') return this.listener.onMedia(kind)
    this.listener.onSequences(kind, event.sequences)
    this.options.onSent(kind, event.bytes)
  }
}
