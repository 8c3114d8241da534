import { availableParallelism } from 'node:os'
import type { NodeConfig } from '@session-service/config'
import {
  FILTER_EVENT_DATA_MAX_LENGTH,
  type ErrorCode,
  ServiceError,
  type AppliedFilter,
  type MediaKind,
  type NodeCommandCall,
  type Units,
} from '@session-service/contract'
import type { ReportSender } from '@session-service/messaging'
import { messageOf, metrics } from '@session-service/server-kit'
import { Logger, type OnModuleInit } from '@nestjs/common'
import { mediaProcessor } from '../native-program/programs.js'
import { kindOf, type OperatorPipelines } from '../media-processor/filter-settings.js'
import type { Answer, Commands, FilterCommand, MediaService } from '../rooms/media.service.js'
import type { StreamFilters } from '../rooms/stream-filters.js'
import type { Stream } from '../rooms/stream.js'
import { canProcess } from '../media-processor/admission.js'
import { FilteredStream } from './filtered-stream.js'
import type { PublishedTrack } from '../tracks/published-track.js'
import { StreamFilter } from './stream-filter.js'

const EVENT_TYPE_MAX_LENGTH = 64

type Config = Pick<NodeConfig, 'MEDIA_NODE_FILTER_PIPELINES'>

/** The filters of the streams on this node. */
export class FiltersService implements Commands<FilterCommand>, StreamFilters, OnModuleInit {
  /** How long a removed filter continues until its subscriptions have other tracks, ms. */
  lingerMs = 3_000
  cores = availableParallelism()
  readonly #logger = new Logger(FiltersService.name)
  readonly #streams = new Map<Stream, FilteredStream>()
  readonly #pipelines: OperatorPipelines
  readonly #failures = metrics.counter('filter_failures_total', {
    help: 'Failures of filters of streams; refused: the node has no capacity',
    labels: { cause: ['failed', 'refused'] },
  })

  /** @param otherWork of the node, apart from its rooms */
  constructor(
    config: Config,
    private readonly media: MediaService,
    private readonly reports: Pick<ReportSender, 'send'>,
    private readonly otherWork: () => Units,
  ) {
    this.#pipelines = Object.fromEntries(
      Object.entries(config.MEDIA_NODE_FILTER_PIPELINES).map(([name, { kind, pipeline: description, properties }]) => [
        name,
        { kind, description, properties },
      ]),
    )
  }

  onModuleInit(): void {
    this.media.filters = this
    if (!mediaProcessor())
      this.#logger.warn('MEDIA_PROCESSOR_BIN names no program: this media node cannot apply filters')
  }

  async applyFilter({ filter, ...call }: NodeCommandCall<'applyFilter'>): Answer<'applyFilter'> {
    await this.#apply(this.#stream(call), filter)
    return {}
  }

  begin(stream: Stream, filter: AppliedFilter): void {
    this.#apply(stream, filter).catch((error: unknown) => {
      if (!isReplaced(error)) this.#reportEnd(stream, filter, messageOf(error))
    })
  }

  /** Receivers have the track of the former input until the filter has media of the new one. */
  inputReplaced(stream: Stream): void {
    const program = mediaProcessor()
    const filtered = this.#streams.get(stream)
    const former = filtered?.latest
    const source = former && stream.track(former.kind)
    if (!program || !filtered || !former || !source || former.takes(source)) return
    const opened = this.#start(program, stream, former.filter, source)
    filtered.apply(opened).catch((error: unknown) => {
      // It was removed, or another one or other media replaced it.
      if (isReplaced(error) || hasLostInput(error)) return
      filtered.end()
      this.#reportEnd(stream, former.filter, messageOf(error))
    })
  }

  async execFilterMethod({
    filterId,
    method,
    params,
    ...call
  }: NodeCommandCall<'execFilterMethod'>): Answer<'execFilterMethod'> {
    const filtered = this.#filtered(this.#stream(call))
    const filter = await filtered.started(filtered.filter(filterId))
    await filter.execMethod(method, params)
    return {}
  }

  async removeFilter({ filterId, ...call }: NodeCommandCall<'removeFilter'>): Answer<'removeFilter'> {
    this.#filtered(this.#stream(call)).remove(filterId)
    return {}
  }

  async #apply(stream: Stream, filter: AppliedFilter): Promise<void> {
    const program = mediaProcessor()
    if (!program) throw new ServiceError('DISABLED', 'the media node cannot apply filters: it has no media processor')
    const filtered = this.#filtered(stream)
    const present = filtered.find(filter.filterId)
    if (present) return void (await filtered.started(present))
    const opened = this.#open(program, stream, filter)
    this.#streams.set(stream, filtered)
    await filtered.started(opened, filtered.apply(opened))
  }

  /** @throws ServiceError INVALID or NO_CAPACITY */
  #open(program: string, stream: Stream, filter: AppliedFilter): StreamFilter {
    const kind = kindOf(filter, this.#pipelines)
    const source = stream.track(kind)
    if (!source) throw new ServiceError('INVALID', `filter.type: stream ${stream.id} has no ${kind}`)
    this.#admit(kind)
    return this.#start(program, stream, filter, source)
  }

  #start(program: string, stream: Stream, filter: AppliedFilter, source: PublishedTrack): StreamFilter {
    const { room } = stream.publisher
    const unit = filterUnit(source.kind)
    room.count(unit, 1)
    return new StreamFilter({
      program,
      stream,
      source,
      filter,
      pipelines: this.#pipelines,
      lingerMs: this.lingerMs,
      onEvent: (type, data) => this.#reportEvent(stream, filter, type, data),
      onFailed: (failed, reason) => {
        // The end of a filter that was removed is no news.
        if (this.#streams.get(stream)?.failed(failed)) this.#reportEnd(stream, filter, reason)
      },
      onClosed: (closed) => {
        room.count(unit, -1)
        const filtered = this.#streams.get(stream)
        filtered?.closed(closed)
        if (filtered?.isEmpty) this.#streams.delete(stream)
      },
    })
  }

  #filtered(stream: Stream): FilteredStream {
    return this.#streams.get(stream) ?? new FilteredStream(stream)
  }

  #stream({ roomId, connectionId, streamId }: { roomId: string; connectionId: string; streamId: string }): Stream {
    const room = this.media.rooms.get(roomId)
    const stream = room.stream(streamId)
    if (stream.publisher.connectionId === connectionId) return stream
    throw room.noStream(streamId)
  }

  #admit(kind: MediaKind): void {
    const held = { rooms: this.media.rooms.size, ...this.media.counts, ...this.otherWork() }
    if (canProcess(held, filterUnit(kind), this.cores)) return
    this.#failures.inc({ cause: 'refused' })
    throw new ServiceError('NO_CAPACITY', 'the media node has no capacity for the filter')
  }

  #reportEnd(stream: Stream, { filterId, type }: AppliedFilter, reason: string): void {
    if (stream.closed) return
    const { room, connectionId } = stream.publisher
    const subject = { roomId: room.id, connectionId, streamId: stream.id, filterId }
    this.#failures.inc({ cause: 'failed' })
    this.#logger.warn({ ...subject, type }, `a filter ended, the stream continues without it: ${reason}`)
    void this.reports.send({ kind: 'filterEnded', epoch: room.epoch, ...subject, reason })
  }

  #reportEvent(stream: Stream, { filterId, type }: AppliedFilter, eventType: string, content: unknown): void {
    const { room, connectionId } = stream.publisher
    const data = JSON.stringify(content) ?? ''
    if (stream.closed || eventType.length > EVENT_TYPE_MAX_LENGTH || data.length > FILTER_EVENT_DATA_MAX_LENGTH) return
    const event = { streamId: stream.id, connectionId, filterType: type, eventType, data }
    const fact = { kind: 'filterEvent', roomId: room.id, epoch: room.epoch, filterId, event } as const
    void this.reports.send(fact)
  }
}

/** The unit of the cost model for a filter of this kind of track. */
const filterUnit = (kind: MediaKind): 'videoFilters' | 'audioFilters' =>
  kind === 'video' ? 'videoFilters' : 'audioFilters'

const hasCode = (error: unknown, code: ErrorCode): boolean => error instanceof ServiceError && error.code === code
const isReplaced = (error: unknown): boolean => hasCode(error, 'CONFLICT')
const hasLostInput = (error: unknown): boolean => hasCode(error, 'NOT_FOUND')
