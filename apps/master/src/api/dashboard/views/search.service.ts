import type { SearchView } from '@session-service/contract/dashboard'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { MediaNodesService } from '../../../media-nodes/media-nodes.service.js'
import { MASTER_CONFIG, type MasterConfig } from '../../../platform/config/configuration.module.js'
import { rows } from '../../../platform/database/sql.js'
import { RecordingRows } from './recording-rows.js'
import { maySee, type Rights } from './rights.js'
import { sessionRows } from './session-rows.js'

const MOST = 10

/** The collation "C" ignores the case of ASCII letters alone, in a third of the time. */
const CONNECTIONS = `SELECT c.id, c.session_id AS "sessionId",
    left(coalesce(nullif(c.client_data, ''), c.server_data), 200) AS data
  FROM connection c WHERE c.status = 'active' AND starts_with(c.session_id, $1)
    AND strpos(lower(concat_ws(' ', c.id, c.client_data, c.server_data) COLLATE "C"), lower($2 COLLATE "C")) > 0
  ORDER BY c.created_at DESC, c.id LIMIT $3`

/** All ended sessions by their exact ids, and a part of an id among the last ten thousand: the history may be long. */
const ENDED = `SELECT unique_session_id AS "uniqueSessionId", session_id AS "sessionId", destroyed_at AS "destroyedAt"
  FROM (
    SELECT unique_session_id, session_id, destroyed_at FROM session_history
    WHERE session_id = $2 OR unique_session_id = $2
    UNION
    SELECT * FROM (SELECT unique_session_id, session_id, destroyed_at FROM session_history
                   ORDER BY destroyed_at DESC, unique_session_id DESC LIMIT 10000) latest
    WHERE strpos(lower(session_id), lower($2)) > 0) ended
  WHERE starts_with(session_id, $1) ORDER BY destroyed_at DESC, unique_session_id DESC LIMIT $3`

/** Finds what an operator names by a part of an id, or of the data of a participant. */
@Injectable()
export class DashboardSearch {
  constructor(
    private readonly dataSource: DataSource,
    private readonly recordings: RecordingRows,
    private readonly mediaNodes: MediaNodesService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  async find(text: string, rights: Rights): Promise<SearchView> {
    const { prefix } = rights
    const values = [prefix, text, MOST]
    const [sessions, connections, recordings, endedSessions] = await Promise.all([
      sessionRows(this.dataSource, { prefix, search: text, sort: 'newest', page: 1, limit: MOST }),
      rows<SearchView['connections'][number]>(this.dataSource, CONNECTIONS, values),
      this.recordings.page({ prefix, search: text, status: undefined, page: 1 }),
      this.config.SERVICE_HISTORY
        ? rows<SearchView['endedSessions'][number]>(this.dataSource, ENDED, values)
        : Promise.resolve([]),
    ])
    return {
      sessions: sessions.rows.map(({ id, participants }) => ({ id, participants })),
      connections,
      recordings: recordings.rows.slice(0, MOST).map(({ id, name, status }) => ({ id, name, status })),
      mediaNodes: maySee(rights, 'media-nodes') ? this.#nodes(text.toLowerCase()) : [],
      endedSessions,
    }
  }

  #nodes(text: string): SearchView['mediaNodes'] {
    return this.mediaNodes
      .rows()
      .filter(({ status }) => status !== 'terminated')
      .filter((row) => [row.id, row.environmentId, row.ip, row.uri].some((part) => part.toLowerCase().includes(text)))
      .slice(0, MOST)
      .map(({ id, status }) => ({ id, status }))
  }
}
