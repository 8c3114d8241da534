import { ServiceError, type MediaKind } from '@session-service/contract'
import { withTimeout } from '@session-service/server-kit'
import type { RtpPorts } from '../tap/plain-rtp-tap.js'
import {
  kindOf,
  settingsOf,
  settingsOfMethod,
  type OperatorPipelines,
  type ProcessorFilter,
} from './filter-settings.js'
import {
  ProcessorProgram,
  type PROCESSOR_CAUSES,
  type ProcessorEvent,
  type ProcessorLeg,
  type VideoLimits,
} from './processor-program.js'

export type { OperatorPipeline, OperatorPipelines, ProcessorFilter } from './filter-settings.js'
export type { ProcessorInput, ProcessorLeg, ProcessorOutput, VideoLimits } from './processor-program.js'

/** Why a processor has ended. */
export interface ProcessorFailure {
  /** `stopped`: on request. */
  cause: (typeof PROCESSOR_CAUSES)[number] | 'stopped'
  text: string
}

interface ProcessorListener {
  /** The first packet was sent. */
  onMedia: (kind: MediaKind) => void
  /** Each second: the sequence number of the last packet. */
  onSequence: (kind: MediaKind, sequence: number) => void
  onFilterEvent: (type: string, data: unknown) => void
  /** Its input cannot be decoded without a key frame: the publisher is to send one. */
  onKeyFrameWanted: (kind: MediaKind) => void
}

const CHANGE_TIMEOUT_MS = 3_000
const OPEN_TIMEOUT_MS = 15_000
/** A program that works reports something each second. */
const SILENT_MS = 10_000
const SILENT_CHECK_MS = 1_000

/** Decodes the tracks of a stream and encodes them again: one native program. */
export class MediaProcessor {
  /**
   * Resolves once its input ports are open. Rejects if it does not start: with INVALID where the filter is the reason.
   * `pipelines`: those of GStreamerFilter.
   */
  static async open(
    program: string,
    legs: readonly ProcessorLeg[],
    filter: ProcessorFilter | undefined,
    listener: ProcessorListener,
    pipelines: OperatorPipelines = {},
  ): Promise<MediaProcessor> {
    const settings = filter && { kind: kindOf(filter, pipelines), list: settingsOf(filter, pipelines) }
    const processor = new MediaProcessor(program, filter, listener, pipelines)
    if (filter && settings) processor.#program.setFilter(settings.kind, filter.type, settings.list)
    for (const leg of legs) processor.#program.addLeg(leg)
    processor.#program.start()
    const failure = await Promise.race([processor.#started.promise, processor.exited])
    if (failure) throw startError(failure)
    return processor
  }

  /** The ports on which it receives. */
  readonly ports: Partial<Record<MediaKind, RtpPorts>> = {}
  /** Resolves after its end, whatever the reason is; never rejects. */
  readonly exited: Promise<ProcessorFailure>
  readonly #program: ProcessorProgram
  readonly #started = Promise.withResolvers<undefined>()
  readonly #silenceCheck: NodeJS.Timeout
  #silentSince = performance.now()
  #silentMs = OPEN_TIMEOUT_MS
  #failure: ProcessorFailure | undefined
  /** Calls that wait for the program. */
  readonly #changes = new Map<string, (refused: string | undefined) => void>()
  #nextChange = 1

  private constructor(
    program: string,
    private readonly filter: ProcessorFilter | undefined,
    private readonly listener: ProcessorListener,
    private readonly pipelines: OperatorPipelines,
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

  /** Resolves when the filter has taken the parameters, which `checkFilterMethod` has checked; rejects with INVALID. */
  async execFilterMethod(method: string, params: Record<string, unknown>): Promise<void> {
    if (!this.filter) throw new ServiceError('NOT_FOUND', 'the stream has no filter')
    const settings = settingsOfMethod(this.filter, method, params, this.pipelines)
    const id = String(this.#nextChange++)
    const { promise: refused, resolve } = Promise.withResolvers<string | undefined>()
    this.#changes.set(id, resolve)
    this.#program.changeFilter(id, settings)
    const ended = this.exited.then(({ text }): never => {
      throw new ServiceError('UNAVAILABLE', `the media processor has ended: ${text}`)
    })
    try {
      const reason = await withTimeout(Promise.race([refused, ended]), CHANGE_TIMEOUT_MS, changeTimeout)
      if (reason !== undefined) throw new ServiceError('INVALID', `params: ${reason}`)
    } finally {
      this.#changes.delete(id)
    }
  }

  /** Changes the bitrate and the size of its video. */
  limitVideo(limits: VideoLimits): void {
    this.#program.limitVideo(limits)
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
    if (event.event === 'filterEvent') listener.onFilterEvent(event.type, event.data)
    if (event.event === 'applied') this.#changes.get(event.id)?.(undefined)
    if (event.event === 'refused') this.#changes.get(event.id)?.(event.message)
    if (event.event === 'keyFrameWanted') listener.onKeyFrameWanted(event.kind)
  }

  #handleStart(): void {
    this.#silentMs = SILENT_MS
    this.#started.resolve(undefined)
  }
}

const changeTimeout = (ms: number): ServiceError =>
  new ServiceError('TIMEOUT', `the filter did not answer within ${ms} ms`)

const startError = ({ cause, text }: ProcessorFailure): ServiceError =>
  cause === 'filter'
    ? new ServiceError('INVALID', `options: ${text}`)
    : new ServiceError('UNAVAILABLE', `the media processor did not start: ${text}`)
