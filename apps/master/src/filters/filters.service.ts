import {
  checkFilter,
  checkFilterMethod,
  newSecret,
  ServiceError,
  type SignallingCall,
  type SignallingResult,
} from '@session-service/contract'
import { Injectable, Logger } from '@nestjs/common'
import { NodeCommands } from '../media-nodes/node-commands.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { isUncertain, noSuchStream, type PlacedParticipant } from '../streams/streams.service.js'
import { announceFilter, type StreamRef } from './announce-filter.js'
import { FilterEventsRepository, MOST_LISTENERS } from './filter-events.repository.js'
import { counted } from './filter-metrics.js'
import { type FilterUser, requireFilterRight, requireTrack } from './filter-rights.js'
import { appliedFilter, type FilteredStream, FilterRepository, type StoredFilter } from './filter.repository.js'
import { filterView } from './filter-view.js'

/** A participant that uses filters. */
type PlacedFilterUser = PlacedParticipant & FilterUser

/** A stream with a filter that works. */
interface FilteredBy extends StreamRef {
  filterId: string
  type: string
}

export const newFilterId = (): string => newSecret(64)

const noSuchFilter = (streamId: string): ServiceError =>
  new ServiceError('NOT_FOUND', `the stream ${streamId} has no filter`)

/** Applies, changes and removes filters of streams: on the media node, in the database, for the clients. */
@Injectable()
export class FiltersService {
  readonly #logger = new Logger(FiltersService.name)

  constructor(
    private readonly filters: FilterRepository,
    private readonly events: FilterEventsRepository,
    private readonly nodeCommands: NodeCommands,
    private readonly broadcast: SessionBroadcast,
  ) {}

  /** The reservation in the database decides which of several concurrent calls may start its filter. */
  async apply(
    user: PlacedFilterUser,
    { streamId, ...wanted }: SignallingCall<'applyFilter'>,
  ): Promise<SignallingResult<'applyFilter'>> {
    const { connectionId, mediaOptions } = await this.#stream(user, streamId)
    requireFilterRight(user, connectionId, wanted.type)
    const spec = checkFilter(wanted)
    requireTrack(mediaOptions, spec.type)
    const filter: StoredFilter = { filterId: newFilterId(), ...spec, view: filterView(spec) }
    if (!(await this.filters.reserve(streamId, connectionId, filter)))
      throw new ServiceError('CONFLICT', `the stream ${streamId} has a filter already`)
    const stream = { streamId, connectionId }
    await this.#start(user, stream, filter)
    announceFilter(this.broadcast, user.roomId, stream, filter.view, {
      reason: 'applyFilter',
      except: user.connectionId,
    })
    return { filter: filter.view }
  }

  async #start({ roomId, place }: PlacedFilterUser, stream: StreamRef, filter: StoredFilter): Promise<void> {
    const { filterId } = filter
    const { streamId } = stream
    const undo = (): void => void this.nodeCommands.notify(place, 'removeFilter', { roomId, ...stream, filterId })
    try {
      const command = { roomId, ...stream, filter: appliedFilter(filter) }
      await counted('apply', this.nodeCommands.requestWhileAlive(place, 'applyFilter', command))
    } catch (error) {
      // A node executes the commands of one connection in order.
      if (isUncertain(error)) undo()
      await this.discard(streamId, filterId)
      throw error
    }
    const works = await this.filters.confirm(streamId, filterId).catch(async (error: unknown) => {
      undo()
      await this.discard(streamId, filterId)
      throw error
    })
    if (works) return
    undo()
    await this.discard(streamId, filterId)
    throw new ServiceError('LAUNCH_FAILED', 'the filter ended as soon as it was applied')
  }

  /** Deletes a filter that was not started. A reservation that stays expires. */
  async discard(streamId: string, filterId: string): Promise<void> {
    await this.filters.remove(streamId, filterId).catch((error: unknown) => {
      this.#logger.warn({ err: error, streamId }, 'deleting a filter that was not started failed')
    })
  }

  async execute(
    user: PlacedFilterUser,
    { streamId, method, params: given }: SignallingCall<'execFilterMethod'>,
  ): Promise<SignallingResult<'execFilterMethod'>> {
    const { type, ...filter } = await this.#working(user, streamId)
    const params = checkFilterMethod(type, method, given)
    const command = { roomId: user.roomId, ...filter, method, params }
    try {
      await counted('execute', this.nodeCommands.request(user.place, 'execFilterMethod', command))
    } catch (error) {
      // Its report that the filter has ended is on its way.
      throw isMissing(error) ? noSuchFilter(streamId) : error
    }
    const view = await this.filters.execute(streamId, filter.filterId, { method, params })
    if (!view) throw noSuchFilter(streamId)
    announceFilter(this.broadcast, user.roomId, filter, view, { reason: 'execFilterMethod', except: user.connectionId })
    return { filter: view }
  }

  async remove(user: PlacedFilterUser, streamId: string): Promise<void> {
    const { type: _, ...filter } = await this.#working(user, streamId)
    try {
      await counted('remove', this.nodeCommands.request(user.place, 'removeFilter', { roomId: user.roomId, ...filter }))
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    const removed = await this.filters.remove(streamId, filter.filterId)
    if (!removed?.wasShown) return
    announceFilter(this.broadcast, user.roomId, filter, {}, { reason: 'removeFilter', except: user.connectionId })
  }

  async addListener(user: PlacedFilterUser, streamId: string, eventType: string): Promise<void> {
    await this.#working(user, streamId)
    const listens = await this.events.addListener(user.connectionId, streamId, eventType)
    if (listens === undefined) throw noSuchFilter(streamId)
    if (!listens)
      throw new ServiceError('OUT_OF_RANGE', `a connection listens to at most ${MOST_LISTENERS} types of events`)
  }

  removeListener({ connectionId }: PlacedFilterUser, streamId: string, eventType: string): Promise<void> {
    return this.events.removeListener(connectionId, streamId, eventType)
  }

  /** The filter of a stream, which the participant may change. */
  async #working(user: PlacedFilterUser, streamId: string): Promise<FilteredBy> {
    const { connectionId, filter } = await this.#stream(user, streamId)
    if (!filter) throw noSuchFilter(streamId)
    const { filterId, type, isStarting } = filter
    requireFilterRight(user, connectionId, type)
    if (isStarting) throw new ServiceError('CONFLICT', `the filter of the stream ${streamId} is being started`)
    return { streamId, connectionId, filterId, type }
  }

  async #stream({ sessionId }: PlacedFilterUser, streamId: string): Promise<FilteredStream> {
    const stream = await this.filters.find(sessionId, streamId)
    if (!stream) throw noSuchStream(streamId)
    return stream
  }
}

/** The node has no such filter, although the database has. */
const isMissing = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'NOT_FOUND' && error.subject !== 'connection'
