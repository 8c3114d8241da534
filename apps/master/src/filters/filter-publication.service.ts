import { checkFilter, newStreamId, ServiceError, type SignallingCall } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { mediaOptionsOf, streamKindOf } from '../streams/media-options.js'
import { type PublishedFilter, type Publisher, StreamsService } from '../streams/streams.service.js'
import { announceFilter, type StreamRef } from './announce-filter.js'
import { type FilterUser, requireFilterRight, requireTrack } from './filter-rights.js'
import { appliedFilter, FilterRepository, type StoredFilter } from './filter.repository.js'
import { filterView } from './filter-view.js'
import { FiltersService, newFilterId } from './filters.service.js'

type FilteringPublisher = Publisher & FilterUser
type Published = Awaited<ReturnType<StreamsService['publish']>>
/** The outcome for a stream that was inserted with a filter. */
type Outcome = 'filtered' | 'without filter' | 'ended'

/** Publishes streams with filters: new ones, and those whose media was lost with the filter that they had. */
@Injectable()
export class FilterPublication {
  constructor(
    private readonly filters: FilterRepository,
    private readonly service: FiltersService,
    private readonly streams: StreamsService,
    private readonly broadcast: SessionBroadcast,
  ) {}

  /** Only new streams take the filter of the call: another client may have changed the filter of a former one. */
  async publish(user: FilteringPublisher, { filter, ...call }: SignallingCall<'publish'>): Promise<Published> {
    const { streamId } = call
    if (streamId !== undefined) return this.#publishAgain(user, { ...call, streamId })
    return filter ? this.#publishNew(user, { ...call, filter }) : this.streams.publish(user, call)
  }

  async #publishNew(
    user: FilteringPublisher,
    { filter: wanted, ...call }: SignallingCall<'publish'> & Required<Pick<SignallingCall<'publish'>, 'filter'>>,
  ): Promise<Published> {
    const { roomId, connectionId } = user
    requireFilterRight(user, connectionId, wanted.type)
    const spec = checkFilter(wanted, 'filter.')
    const mediaOptions = mediaOptionsOf(call)
    requireTrack(mediaOptions, spec.type)
    const streamId = newStreamId(streamKindOf(mediaOptions), connectionId)
    const filter = { filterId: newFilterId(), ...spec, view: filterView(spec) }
    await this.filters.reserve(streamId, connectionId, filter)
    try {
      const published = await this.streams.publish(
        user,
        { ...call, streamId },
        { ...publishedFilter(filter), isNew: true },
      )
      return answerOf(published, await this.published(roomId, { streamId, connectionId }, filter.filterId))
    } catch (error) {
      await this.service.discard(streamId, filter.filterId)
      throw error
    }
  }

  async #publishAgain(
    user: FilteringPublisher,
    call: Omit<SignallingCall<'publish'>, 'filter'> & { streamId: string },
  ): Promise<Published> {
    const stream = { streamId: call.streamId, connectionId: user.connectionId }
    const filter = await this.ofFormer(stream)
    const published = await this.streams.publish(user, call, filter)
    if (!filter) return published
    return answerOf(published, await this.published(user.roomId, stream, filter.applied.filterId))
  }

  /** The filter of a stream whose media was lost, to publish it again. Reports about the former media have no effect. */
  async ofFormer({ streamId, connectionId }: StreamRef): Promise<PublishedFilter | undefined> {
    const filter = await this.filters.renew(streamId, connectionId, newFilterId())
    return filter && publishedFilter(filter)
  }

  /** A stream was inserted with a filter, which may have ended before, and the stream since. */
  async published(roomId: string, stream: StreamRef, filterId: string): Promise<Outcome> {
    if (await this.filters.confirm(stream.streamId, filterId)) return 'filtered'
    if (!(await this.filters.clearView(stream.streamId))) return 'ended'
    announceFilter(this.broadcast, roomId, stream, {}, { reason: 'filterFailed' })
    return 'without filter'
  }
}

/** @throws ServiceError NOT_FOUND: the publisher may have got `streamDestroyed` already, and would keep the stream */
function answerOf(published: Published, outcome: Outcome): Published {
  if (outcome === 'ended') throw new ServiceError('NOT_FOUND', 'the stream has ended', { subject: 'stream' })
  return outcome === 'filtered' ? published : { ...published, filter: {} }
}

const publishedFilter = (filter: StoredFilter): PublishedFilter => ({
  applied: appliedFilter(filter),
  view: filter.view,
})
