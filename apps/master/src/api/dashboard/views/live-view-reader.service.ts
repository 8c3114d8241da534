import type { LiveQuery, LiveViewName, LiveViews } from '@session-service/contract/dashboard'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { RecentEvents } from '../../../events/recent-events.service.js'
import {
  CONFIG_ORIGIN,
  type ConfigOrigin,
  MASTER_CONFIG,
  type MasterConfig,
} from '../../../platform/config/configuration.module.js'
import { MediaNodeQueries, noSuchNode } from '../../media-nodes/media-node-queries.service.js'
import { deadLetterRows } from './dead-letter-rows.js'
import { nodeRow } from './node-rows.js'
import { OverviewReader } from './overview.service.js'
import { propertyRows } from './property-rows.js'
import { RecordingRows } from './recording-rows.js'
import type { Rights } from './rights.js'
import { SessionDetailsReader } from './session-details.service.js'
import { sessionRows } from './session-rows.js'

type Readers = { [V in LiveViewName]: (query: LiveQuery<V>, rights: Rights) => Promise<LiveViews[V]> }

const EVENTS = 100

/** Reads the data of the live views. Each read is bounded, whatever the number of sessions. */
@Injectable()
export class LiveViewReader {
  readonly #readers: Readers = {
    overview: (_, rights) => this.overview.read(rights),
    'media-nodes': async () => ({ nodes: (await this.mediaNodes.figures()).map(nodeRow) }),
    'media-node': (query) => this.#mediaNode(query),
    sessions: (query, { prefix }) => sessionRows(this.dataSource, { ...query, prefix }),
    session: ({ id }) => this.sessions.read(id),
    recordings: (query, { prefix }) => this.recordings.page({ ...query, prefix }),
    events: async (query, { prefix }) => ({ rows: await this.events.find({ ...query, prefix, limit: EVENTS }) }),
    'dead-letters': ({ page }) => deadLetterRows(this.dataSource, page),
    configuration: async () => ({
      properties: propertyRows({ config: this.config, env: this.origin.env, overrides: this.origin.overrides.values }),
    }),
  }

  constructor(
    private readonly dataSource: DataSource,
    private readonly overview: OverviewReader,
    private readonly sessions: SessionDetailsReader,
    private readonly recordings: RecordingRows,
    private readonly events: RecentEvents,
    private readonly mediaNodes: MediaNodeQueries,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(CONFIG_ORIGIN) private readonly origin: ConfigOrigin,
  ) {}

  /** The rights are sufficient for the view. @throws ServiceError NOT_FOUND when its subject does not exist any more */
  read<V extends LiveViewName>(view: V, query: LiveQuery<V>, rights: Rights): Promise<LiveViews[V]> {
    return this.#readers[view](query, rights)
  }

  async #mediaNode({ id, page }: LiveQuery<'media-node'>): Promise<LiveViews['media-node']> {
    const [[node], sessions] = await Promise.all([
      this.mediaNodes.figures(id),
      sessionRows(this.dataSource, { prefix: '', search: '', sort: 'newest', page, mediaNodeId: id }),
    ])
    if (!node) throw noSuchNode(id)
    return { node: nodeRow(node), sessions }
  }
}
