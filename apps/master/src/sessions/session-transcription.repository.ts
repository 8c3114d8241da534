import { Injectable } from '@nestjs/common'
import { DataSource, In, IsNull, Not } from 'typeorm'
import { firstRow } from '../platform/database/sql.js'
import { SessionEntity } from './session.entity.js'

/** A session whose language of the transcription was changed. */
interface ChangedTranscription {
  roomId: string
  /** Null: it was not transcribed. */
  former: string | null
}

/** The languages in which sessions are transcribed. */
@Injectable()
export class SessionTranscriptionRepository {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Undefined without the session, and when it has this language already. Hand-written: of concurrent requests for the
   * same language exactly one changes the session.
   */
  set(sessionId: string, lang: string | null): Promise<ChangedTranscription | undefined> {
    return firstRow<ChangedTranscription>(
      this.dataSource.manager,
      `WITH former AS MATERIALIZED (SELECT id, transcription_lang FROM session WHERE id = $1 FOR UPDATE)
       UPDATE session s SET transcription_lang = $2 FROM former f
       WHERE s.id = f.id AND f.transcription_lang IS DISTINCT FROM $2::text
       RETURNING s.unique_id AS "roomId", f.transcription_lang AS former`,
      [sessionId, lang],
    )
  }

  /** Reverts `set`, unless the language was changed again. */
  async revert({ roomId, former }: ChangedTranscription, lang: string): Promise<void> {
    await this.dataSource
      .getRepository(SessionEntity)
      .update({ uniqueSessionId: roomId, transcriptionLang: lang }, { transcriptionLang: former })
  }

  /** The language of a live session that is transcribed. */
  async ofSession(sessionId: string): Promise<string | undefined> {
    const session = await this.dataSource
      .getRepository(SessionEntity)
      .findOne({ select: { id: true, transcriptionLang: true }, where: { id: sessionId } })
    return session?.transcriptionLang ?? undefined
  }

  /** The language by room, of those that are transcribed. */
  async languages(roomIds: readonly string[]): Promise<Map<string, string>> {
    if (roomIds.length === 0) return new Map()
    const sessions = await this.dataSource.getRepository(SessionEntity).find({
      select: { id: true, uniqueSessionId: true, transcriptionLang: true },
      where: { uniqueSessionId: In([...roomIds]), transcriptionLang: Not(IsNull()) },
    })
    return new Map(sessions.map(({ uniqueSessionId, transcriptionLang }) => [uniqueSessionId, transcriptionLang ?? '']))
  }
}
