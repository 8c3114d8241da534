import { ServiceError, type MediaKind } from '@session-service/contract'
import type { RtpPorts } from '../tap/plain-rtp-tap.js'
import { ProcessorProgram, type PROCESSOR_CAUSES, type ProcessorEvent, type ProcessorLeg } from './processor-program.js'

export type { ProcessorInput, ProcessorLeg, ProcessorOutput } from './processor-program.js'

/** A filter whose options were checked. */
export interface ProcessorFilter {
  type: string
  options: Record<string, unknown>
}

/** Why a processor has ended. */
export interface ProcessorFailure {
  /** `stopped`: on request. */
  cause: (typeof PROCESSOR_CAUSES)[number] | 'stopped'
  text: string
}

export interface ProcessorListener {
  /** The first packet was sent. */
  onMedia: (kind: MediaKind) => void
  /** Each second: the sequence number of the last packet. */
  onSequence: (kind: MediaKind, sequence: number) => void
  onFilterEvent: (type: string, data: unknown) => void
  /** Its input cannot be decoded without a key frame: the publisher is to send one. */
  onKeyFrameWanted: (kind: MediaKind) => void
}

const OPEN_TIMEOUT_MS = 15_000
/** A program that works reports something each second. */
const SILENT_MS = 10_000
const SILENT_CHECK_MS = 1_000

/** Decodes the tracks of a stream and encodes them again: one native program. */
export class MediaProcessor {
  /** Resolves once its input ports are open; rejects if it does not start. */
  static async open(
    program: string,
    legs: readonly ProcessorLeg[],
    filter: ProcessorFilter | undefined,
    listener: ProcessorListener,
  ): Promise<MediaProcessor> {
    if (filter) throw new ServiceError('INVALID', `filter: ${filter.type} is not known`)
    const processor = new MediaProcessor(program, listener)
    for (const leg of legs) processor.#program.addLeg(leg)
    processor.#program.start()
    const failure = await Promise.race([processor.#started.promise, processor.exited])
    if (failure) throw new ServiceError('UNAVAILABLE', `the media processor did not start: ${failure.text}`)
    return processor
  }

  /** Where it receives. */
  readonly ports: Partial<Record<MediaKind, RtpPorts>> = {}
  /** Resolves after its end, whatever the reason is; never rejects. */
  readonly exited: Promise<ProcessorFailure>
  readonly #program: ProcessorProgram
  readonly #started = Promise.withResolvers<undefined>()
  readonly #silenceCheck: NodeJS.Timeout
  #silentSince = performance.now()
  #silentMs = OPEN_TIMEOUT_MS
  #failure: ProcessorFailure | undefined

  private constructor(
    program: string,
    private readonly listener: ProcessorListener,
  ) {
    this.#program = new ProcessorProgram(program, (event) => this.#handle(event))
    this.#silenceCheck = setInterval(() => this.#checkSilence(), SILENT_CHECK_MS)
    this.exited = this.#program.exited.then((text) => {
      clearInterval(this.#silenceCheck)
      if (text === undefined) return { cause: 'stopped', text: 'it was stopped' }
      return this.#failure ?? { cause: 'failed', text }
    })
  }

  get pid(): number | undefined {
    return this.#program.pid
  }

  async stop(): Promise<void> {
    await this.#program.stop()
  }

  /** A program that hangs gives no sign of it. */
  #checkSilence(): void {
    if (performance.now() - this.#silentSince > this.#silentMs) this.#program.kill('hangs')
  }

  #handle(event: ProcessorEvent): void {
    const { listener } = this
    this.#silentSince = performance.now()
    if (event.event === 'opened') this.ports[event.kind] = { rtp: event.rtp, rtcp: event.rtcp }
    if (event.event === 'started') this.#handleStart()
    if (event.event === 'error') this.#failure ??= { cause: event.cause, text: event.message }
    if (event.event === 'media') listener.onMedia(event.kind)
    if (event.event === 'sent' && event.packets > 0) listener.onSequence(event.kind, event.sequence)
    if (event.event === 'keyFrameWanted') listener.onKeyFrameWanted(event.kind)
  }

  #handleStart(): void {
    this.#silentMs = SILENT_MS
    this.#started.resolve(undefined)
  }
}
