import type { SessionView } from '@session-service/contract'
import { Inject, Injectable, type StreamableFile } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { isPaid } from '../platform/config/edition.js'
import { GroupRead } from '../platform/database/group-read.js'
import { rows } from '../platform/database/sql.js'
import {
  BEFORE_ALL,
  type ListFormat,
  PAGE_ROWS,
  PLAIN_FORMAT,
  type Position,
  streamedList,
} from '../platform/http/answers/streamed-list.js'
import { FULL_VIEW, type Viewer } from '../platform/http/access/viewer.js'
import { SESSION_ROW, type SessionRow } from '../sessions/session.repository.js'
import { sessionView } from '../sessions/session.view.js'
import { noSuchSession } from '../sessions/no-such-session.js'
import { TokensService } from '../tokens/tokens.service.js'
import { EndpointsService, type Transports, withEndpoints } from './endpoints.service.js'
import { CONNECTION_ROW, type ConnectionRow, connectionView, tokenOf, withoutSecrets } from './connection.view.js'

type WholeSession = SessionRow & { connections: ConnectionRow[]; transports?: Transports }

/** The parts of the answer beside active connections. */
export interface SessionDetails {
  withPending?: boolean
  withEndpoints?: boolean
  viewer?: Viewer
}

/**
 * $2: include pending connections. Hand-written: one statement reads a session with its connections and streams, so
 * that they are consistent.
 */
const WHOLE_SESSION = `${SESSION_ROW},
  (SELECT coalesce(json_agg(row ORDER BY row."createdAt", row.id), '[]') FROM (
     SELECT ${CONNECTION_ROW} FROM connection c WHERE c.session_id = s.id
       AND (c.status = 'active' OR $2 AND c.status = 'pending')) row
  ) AS connections`

/** Sessions that one statement reads, and such statements at the same time: each may have many connections. */
const READ_TOGETHER = { keys: 20, reads: 4 }

/** Reads sessions with their connections for the REST API. */
@Injectable()
export class SessionQueries {
  readonly #all = this.#reader(true)
  readonly #active = this.#reader(false)

  constructor(
    private readonly dataSource: DataSource,
    private readonly tokens: TokensService,
    private readonly endpoints: EndpointsService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** @throws ServiceError NOT_FOUND */
  async get(id: string, details: SessionDetails = {}): Promise<SessionView> {
    const found = await (details.withPending ? this.#all : this.#active).get(id)
    if (!found) throw noSuchSession(id)
    const [row = found] = details.withEndpoints ? await this.#connected([found]) : []
    return this.#view(row, details.viewer)
  }

  /** With pending connections or without. */
  #reader(withPending: boolean): GroupRead<string, WholeSession> {
    return new GroupRead(async (ids) => {
      const found = await this.#read('WHERE s.id = ANY($1)', [ids, withPending])
      return new Map(found.map((session) => [session.id, session]))
    }, READ_TOGETHER)
  }

  /** All sessions of the viewer, as a stream of JSON. */
  list(
    { withPending = false, withEndpoints: hasEndpoints = false, viewer = FULL_VIEW }: SessionDetails = {},
    format: ListFormat<SessionView> = PLAIN_FORMAT,
  ): Promise<StreamableFile> {
    return streamedList({
      key: ['sessions', withPending, hasEndpoints, viewer.prefix, viewer.seesSecrets, format.name],
      readPage: async (after) => {
        const page = await this.#page(withPending, viewer.prefix, after)
        return hasEndpoints ? this.#connected(page) : page
      },
      view: (row) => format.convert(this.#view(row, viewer)),
    })
  }

  /** Sessions on a media node, oldest first. */
  async onNode(nodeId: string): Promise<SessionView[]> {
    const sessions = await this.#read('WHERE s.media_node_id = $1 ORDER BY s.created_at, s.id', [nodeId, false])
    return sessions.map((row) => this.#view(row))
  }

  /** Adds the transports of the clients. */
  async #connected(page: readonly WholeSession[]): Promise<WholeSession[]> {
    const transports = await this.endpoints.transportsOf(page)
    return page.map((row) => ({ ...row, transports }))
  }

  #page(withPending: boolean, prefix: string, after: Position = BEFORE_ALL): Promise<WholeSession[]> {
    return this.#read(
      `WHERE (s.created_at, s.id) > ($1, $3) AND starts_with(s.id, $4) ORDER BY s.created_at, s.id LIMIT ${PAGE_ROWS}`,
      [after.createdAt, withPending, after.id, prefix],
    )
  }

  #read(condition: string, values: unknown[]): Promise<WholeSession[]> {
    return rows<WholeSession>(this.dataSource.manager, `SELECT ${WHOLE_SESSION} FROM session s ${condition}`, values)
  }

  #view(row: WholeSession, { seesSecrets }: Viewer = FULL_VIEW): SessionView {
    const { transports } = row
    const connections = row.connections.map((connection) => {
      const view = connectionView(connection, this.tokens.url(row.id, connection.id, tokenOf(connection)))
      const shown = seesSecrets ? view : withoutSecrets(view)
      return transports ? withEndpoints(shown, transports) : shown
    })
    // Media nodes are visible in the paid editions only.
    return sessionView(isPaid(this.config) ? row : { ...row, mediaNodeId: null }, connections)
  }
}
