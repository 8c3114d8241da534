import type { TranscriptSentence } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type SelectQueryBuilder } from 'typeorm'
import { columns, execute, firstRow, rows } from '../platform/database/sql.js'
import { DEFAULT_CUE_MS, type SpokenSentence } from './transcript-formats.js'
import { TranscriptSentenceEntity } from './transcript-sentence.entity.js'

/** The configuration of the search: words as they are, because sentences of all languages share one index. */
const CONFIGURATION = 'simple'

const SPOKEN = ['connectionId', 'clientData', 'streamId', 'lang', 'text', 'startTime', 'endTime'] as const

/** A position between two sentences. */
export interface SentencePosition {
  startTime: number
  id: string
}

export interface SentenceFilter {
  sessionId?: string | undefined
  uniqueSessionId?: string | undefined
  lang?: string | undefined
  text?: string | undefined
  /** UTC ms, inclusive. */
  from?: number | undefined
  /** UTC ms, exclusive. */
  to?: number | undefined
}

export interface SentencePage {
  order: 'ASC' | 'DESC'
  limit: number
  after?: SentencePosition | undefined
}

@Injectable()
export class TranscriptRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Stores a sentence; one whose id is stored already has no effect. Hand-written for the conflict and the speaker. */
  async insert(id: string, uniqueSessionId: string, sentence: TranscriptSentence): Promise<void> {
    const { connectionId, streamId, lang, text, timestamp, endTime, words, clientData = '' } = sentence
    await execute(
      this.dataSource,
      `INSERT INTO transcript_sentence (id, session_id, unique_session_id, connection_id, client_data, stream_id, lang,
         text, search, start_time, end_time, words)
       VALUES ($1, $2, $3, $4, coalesce((SELECT client_data FROM connection WHERE id = $4), $11), $5, $6,
         $7, to_tsvector('${CONFIGURATION}', $7), $8, $9, $10::jsonb)
       ON CONFLICT (id) DO NOTHING`,
      [
        id,
        sessionIdOf(uniqueSessionId),
        uniqueSessionId,
        connectionId,
        streamId,
        lang,
        text,
        Math.round(timestamp),
        endTime === undefined ? null : Math.round(endTime),
        words ? JSON.stringify(words) : null,
        clientData,
      ],
    )
  }

  /** The live use of a session id, or else the last one with sentences. */
  async lastUse(sessionId: string): Promise<string | undefined> {
    const row = await firstRow<{ id: string }>(
      this.dataSource,
      `SELECT coalesce(
         (SELECT unique_id FROM session WHERE id = $1),
         (SELECT unique_session_id FROM transcript_sentence WHERE session_id = $1
          ORDER BY start_time DESC, id DESC LIMIT 1)) AS id`,
      [sessionId],
    )
    return row?.id ?? undefined
  }

  /** Whether this use of the session is live or has sentences. */
  async hasUse(sessionId: string, uniqueSessionId: string): Promise<boolean> {
    const row = await firstRow<{ exists: boolean }>(
      this.dataSource,
      `SELECT EXISTS (SELECT 1 FROM session WHERE id = $1 AND unique_id = $2)
         OR EXISTS (SELECT 1 FROM transcript_sentence WHERE session_id = $1 AND unique_session_id = $2) AS exists`,
      [sessionId, uniqueSessionId],
    )
    return row?.exists ?? false
  }

  /** Whether sentences of this use of a session are stored. */
  hasSentences(uniqueSessionId: string): Promise<boolean> {
    return this.dataSource.getRepository(TranscriptSentenceEntity).existsBy({ uniqueSessionId })
  }

  /** The sentences of a use of a session that were spoken in a time, without their words. */
  spokenBetween(uniqueSessionId: string, from: number, to: number): Promise<SpokenSentence[]> {
    return rows<SpokenSentence>(
      this.dataSource,
      `SELECT ${columns(TranscriptSentenceEntity, 's', SPOKEN)} FROM transcript_sentence s
       WHERE s.unique_session_id = $1 AND s.start_time < $3 AND coalesce(s.end_time, s.start_time + $4) > $2
       ORDER BY s.start_time, s.id`,
      [uniqueSessionId, Math.floor(from), Math.ceil(to), DEFAULT_CUE_MS],
    )
  }

  find(filter: SentenceFilter, { order, limit, after }: SentencePage): Promise<TranscriptSentenceEntity[]> {
    const query = this.dataSource.getRepository(TranscriptSentenceEntity).createQueryBuilder('sentence')
    applyFilter(query, filter)
    if (after)
      query.andWhere(`(sentence.startTime, sentence.id) ${order === 'ASC' ? '>' : '<'} (:afterTime, :afterId)`, {
        afterTime: after.startTime,
        afterId: after.id,
      })
    return query.orderBy('sentence.startTime', order).addOrderBy('sentence.id', order).limit(limit).getMany()
  }

  /** Deletes sentences that were stored more than `days` ago, at most `limit`. Gives their number. */
  deleteOld(days: number, limit: number): Promise<number> {
    // Bounded, so that one statement never runs for long: a DELETE has no LIMIT of its own.
    return execute(
      this.dataSource,
      `DELETE FROM transcript_sentence WHERE id IN (
         SELECT id FROM transcript_sentence WHERE stored_at < clock_timestamp() - $1 * interval '1 day' LIMIT $2)`,
      [days, limit],
    )
  }
}

function applyFilter(query: SelectQueryBuilder<TranscriptSentenceEntity>, filter: SentenceFilter): void {
  const { sessionId, uniqueSessionId, lang, text, from, to } = filter
  if (sessionId !== undefined) query.andWhere({ sessionId })
  if (uniqueSessionId !== undefined) query.andWhere({ uniqueSessionId })
  if (lang !== undefined) query.andWhere({ lang })
  if (from !== undefined) query.andWhere('sentence.startTime >= :from', { from })
  if (to !== undefined) query.andWhere('sentence.startTime < :to', { to })
  if (text !== undefined) query.andWhere(`sentence.search @@ websearch_to_tsquery('${CONFIGURATION}', :text)`, { text })
}

/** The unique id is the session id with the time of its creation. */
const sessionIdOf = (uniqueSessionId: string): string => uniqueSessionId.replace(/_\d+$/, '')
