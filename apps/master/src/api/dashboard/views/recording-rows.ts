import { PAGE_SIZE, type LiveQuery, type LiveViews, type RecordingRow } from '@session-service/contract/dashboard'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../../../platform/config/configuration.module.js'
import { firstRow } from '../../../platform/database/sql.js'
import { RecordingsService } from '../../../recordings/api/recordings.service.js'
import {
  RECORDING_COLUMNS,
  type RecordingRow as StoredRecording,
} from '../../../recordings/repository/recording-row.js'

/** Condition on `recording r`, with an index: the time is constant during a statement. */
export const IS_OF_LAST_DAY = 'r.created_at > (extract(epoch FROM now()) * 1000)::bigint - 86400000'

interface RecordingFilter extends Pick<LiveQuery<'recordings'>, 'search' | 'status' | 'page'> {
  prefix: string
  sessionId?: string
}

/** $1: prefix, $2: search, $3: status, $4: session, $5: rows of a page, $6: rows before it. */
const PAGE = `WITH matching AS (
    SELECT r.id, r.created_at, r.size FROM recording r
    WHERE r.removed_at IS NULL AND starts_with(r.session_id, $1) AND ($3::text IS NULL OR r.status = $3)
      AND ($4::text IS NULL OR r.session_id = $4)
      AND ($2 = '' OR strpos(lower(r.id || ' ' || (r.properties->>'name')), lower($2)) > 0))
  SELECT count(*)::int AS total, coalesce(sum(size), 0)::bigint AS bytes,
    (SELECT coalesce(json_agg(row ORDER BY row."createdAt" DESC, row.id DESC), '[]') FROM (
       SELECT ${RECORDING_COLUMNS} FROM recording r JOIN (
         SELECT m.id FROM matching m ORDER BY m.created_at DESC, m.id DESC LIMIT $5 OFFSET $6) shown USING (id)) row
    ) AS rows
  FROM matching`

/** Reads recordings for lists. */
@Injectable()
export class RecordingRows {
  constructor(
    private readonly dataSource: DataSource,
    private readonly recordings: RecordingsService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** One page of the recordings that match, the latest first; the number and the bytes of all of them. */
  async page({ prefix, search, status, page, sessionId }: RecordingFilter): Promise<LiveViews['recordings']> {
    const found = await firstRow<{ total: number; bytes: number; rows: StoredRecording[] }>(this.dataSource, PAGE, [
      prefix,
      search,
      status ?? null,
      sessionId ?? null,
      PAGE_SIZE,
      (page - 1) * PAGE_SIZE,
    ])
    const { total = 0, bytes = 0, rows = [] } = found ?? {}
    return { total, bytes, rows: rows.map((row) => this.#row(row)) }
  }

  #row(row: StoredRecording): RecordingRow {
    const view = this.recordings.shown(row)
    return { ...view, path: pathOfFile(view.url, this.config.SERVICE_PUBLICURL) }
  }
}

/** The path of a file that the service itself serves; null for a file in an object storage, and without one. */
function pathOfFile(url: string | null, publicUrl: string): string | null {
  const folder = `${publicUrl}/service/recordings/`
  return url?.startsWith(folder) ? `/service/recordings/${url.slice(folder.length)}` : null
}
