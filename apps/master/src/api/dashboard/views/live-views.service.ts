import type { LiveQuery, LiveViewName, LiveViews } from '@session-service/contract/dashboard'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { OverviewReader } from './overview.service.js'
import type { Rights } from './rights.js'
import { sessionRows } from './session-rows.js'

type Readers = Partial<{ [V in LiveViewName]: (query: LiveQuery<V>, rights: Rights) => Promise<LiveViews[V]> }>

/** Reads the data of the live views. Each read is bounded, whatever the number of sessions. */
@Injectable()
export class LiveViewReader {
  readonly #readers: Readers

  constructor(dataSource: DataSource, overview: OverviewReader) {
    this.#readers = {
      overview: (_, rights) => overview.read(rights),
      sessions: (query, { prefix }) => sessionRows(dataSource, { ...query, prefix }),
    }
  }

  /** @throws ServiceError NOT_FOUND when its subject does not exist any more */
  read<V extends LiveViewName>(view: V, query: LiveQuery<V>, rights: Rights): Promise<LiveViews[V]> {
    const reader = this.#readers[view]
    if (!reader) throw new Error(view)
    return reader(query, rights)
  }
}
