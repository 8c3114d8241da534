import { type AppliedFilter, filterOptionsAfter, type FilterView, type MediaOptions } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { columns, execute, firstRow } from '../platform/database/sql.js'
import { StreamFilterEntity } from './filter.entity.js'
import { viewAfter } from './filter-view.js'

/** A master that starts a filter has finished within this time, s. */
const START_S = 12

export type StoredFilter = Pick<StreamFilterEntity, 'filterId' | 'type' | 'options' | 'view'>

/** A published stream and its filter. */
export interface FilteredStream {
  connectionId: string
  mediaOptions: MediaOptions
  filter: (Pick<StoredFilter, 'filterId' | 'type'> & { isStarting: boolean }) | null
}

const STORED = columns(StreamFilterEntity, 'f', ['filterId', 'type', 'options', 'view'])

/**
 * The rows of filters. A filter that works is also in the media options of its stream. Hand-written: the statements
 * compare ids and times. They lock the stream before its filter, as the deletion of a stream does.
 */
@Injectable()
export class FilterRepository {
  constructor(private readonly dataSource: DataSource) {}

  find(sessionId: string, streamId: string): Promise<FilteredStream | undefined> {
    return firstRow<FilteredStream>(
      this.dataSource,
      `SELECT p.connection_id AS "connectionId", p.media_options AS "mediaOptions",
              CASE WHEN f.stream_id IS NOT NULL THEN json_build_object('filterId', f.filter_id, 'type', f.type,
                'isStarting', coalesce(f.starting_until > clock_timestamp(), false)) END AS filter
       FROM stream p LEFT JOIN stream_filter f ON f.stream_id = p.id
       WHERE p.id = $1 AND p.session_id = $2`,
      [streamId, sessionId],
    )
  }

  /**
   * Reserves the stream for a filter that a media node is asked to start. False when it has a filter, or another one is
   * being started.
   */
  async reserve(
    streamId: string,
    connectionId: string,
    { filterId, type, options, view }: StoredFilter,
  ): Promise<boolean> {
    const reserved = await firstRow<{ filterId: string }>(
      this.dataSource,
      `INSERT INTO stream_filter AS f (stream_id, connection_id, filter_id, type, options, view, starting_until)
       SELECT $1, id, $3, $4, $5::jsonb, $6::jsonb, clock_timestamp() + ${START_S} * interval '1 second'
       FROM connection WHERE id = $2 FOR KEY SHARE
       ON CONFLICT (stream_id) DO UPDATE SET filter_id = excluded.filter_id, type = excluded.type,
         options = excluded.options, view = excluded.view, starting_until = excluded.starting_until
       WHERE f.starting_until <= clock_timestamp()
       RETURNING filter_id AS "filterId"`,
      [streamId, connectionId, filterId, type, JSON.stringify(options), JSON.stringify(view)],
    )
    return reserved !== undefined
  }

  /** Stores that the filter works. False when it has ended meanwhile, or its stream has. */
  confirm(streamId: string, filterId: string): Promise<boolean> {
    return this.dataSource.transaction(async (manager) => {
      await lockStream(manager, streamId)
      const filter = await firstRow<Pick<StoredFilter, 'view'>>(
        manager,
        `UPDATE stream_filter f SET starting_until = NULL WHERE stream_id = $1 AND filter_id = $2 RETURNING f.view`,
        [streamId, filterId],
      )
      return filter !== undefined && (await setView(manager, streamId, filter.view))
    })
  }

  /** Stores the effect of a method. Undefined when the filter has ended meanwhile. */
  execute(
    streamId: string,
    filterId: string,
    { method, params }: { method: string; params: Record<string, unknown> },
  ): Promise<FilterView | undefined> {
    return this.dataSource.transaction(async (manager) => {
      await lockStream(manager, streamId)
      const filter = await firstRow<StoredFilter>(
        manager,
        `SELECT ${STORED} FROM stream_filter f WHERE stream_id = $1 AND filter_id = $2 FOR NO KEY UPDATE`,
        [streamId, filterId],
      )
      if (!filter) return undefined
      const [options, view] = [filterOptionsAfter(filter, method, params), viewAfter(filter.view, method, params)]
      await execute(manager, 'UPDATE stream_filter SET options = $2, view = $3 WHERE stream_id = $1', [
        streamId,
        JSON.stringify(options),
        JSON.stringify(view),
      ])
      return (await setView(manager, streamId, view)) ? view : undefined
    })
  }

  /** Deletes the filter, and its listeners with it. Undefined when there is no such filter. */
  remove(streamId: string, filterId: string): Promise<{ wasShown: boolean; type: string } | undefined> {
    return this.dataSource.transaction(async (manager) => {
      await lockStream(manager, streamId)
      const filter = await firstRow<{ wasShown: boolean; type: string }>(
        manager,
        `DELETE FROM stream_filter WHERE stream_id = $1 AND filter_id = $2
         RETURNING type, starting_until IS NULL AS "wasShown"`,
        [streamId, filterId],
      )
      if (!filter) return undefined
      const isPublished = await setView(manager, streamId, {})
      return { ...filter, wasShown: filter.wasShown && isPublished }
    })
  }

  /** Removes the filter from the media options of a stream whose filter ended before its row was inserted. */
  clearView(streamId: string): Promise<boolean> {
    return setView(this.dataSource.manager, streamId, {})
  }

  /**
   * Gives the filter of a stream, which is published again, a new id. Undefined when it has none that worked, or the
   * stream is published: its media node knows the filter by its id.
   */
  renew(streamId: string, connectionId: string, filterId: string): Promise<StoredFilter | undefined> {
    return firstRow<StoredFilter>(
      this.dataSource,
      `UPDATE stream_filter f SET filter_id = $3
       WHERE stream_id = $1 AND connection_id = $2 AND starting_until IS NULL
         AND NOT EXISTS (SELECT 1 FROM stream WHERE id = $1)
       RETURNING ${STORED}`,
      [streamId, connectionId, filterId],
    )
  }
}

const lockStream = (manager: EntityManager, streamId: string): Promise<number> =>
  execute(manager, 'SELECT 1 FROM stream WHERE id = $1 FOR NO KEY UPDATE', [streamId])

async function setView(manager: EntityManager, streamId: string, view: FilterView): Promise<boolean> {
  const changed = await execute(
    manager,
    `UPDATE stream SET media_options = jsonb_set(media_options, '{filter}', $2::jsonb) WHERE id = $1`,
    [streamId, JSON.stringify(view)],
  )
  return changed > 0
}

/** The form in which a media node gets it. */
export const appliedFilter = ({ filterId, type, options }: StoredFilter): AppliedFilter => ({ filterId, type, options })
