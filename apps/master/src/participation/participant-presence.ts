import { SIGNALLING_WINDOWS } from '@session-service/contract'
import { mapConcurrent } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { ConnectionsService } from '../connections/connections.service.js'
import {
  LEFT_BEHIND_PARTICIPANTS,
  OVERDUE_PARTICIPANTS,
  PresenceRepository,
} from '../connections/presence.repository.js'
import { DEAD_MASTERS, MASTER_SILENT_SECONDS, MasterMembership } from '../media-nodes/master-membership.js'
import { MASTER_ID } from '../platform/config/configuration.module.js'
import { Job, type JobRun } from '../platform/jobs/job.js'

/** As many as one transaction removes. Each may wait for a media node without answers. */
const CONCURRENT_EVICTIONS = 100

/** Gives participants without a socket the eviction window to resume, then evicts them. */
@Injectable()
export class ParticipantPresence {
  readonly #logger = new Logger(ParticipantPresence.name)

  constructor(
    private readonly presence: PresenceRepository,
    private readonly connections: ConnectionsService,
    private readonly membership: MasterMembership,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {}

  /** The socket has been silent for `silentMs`; the newest signal sent to it is `lastSignalId`. */
  markLost(connectionId: string, silentMs: number, lastSignalId?: number): Promise<void> {
    const remainingMs = Math.max(SIGNALLING_WINDOWS.evict - silentMs, 0)
    return this.presence.markLost(connectionId, this.masterId, remainingMs, lastSignalId)
  }

  /** The client has left: removes its participant, unless it has resumed. */
  departIfLost(connectionId: string): Promise<void> {
    return this.connections.depart(connectionId, 'disconnect', 'lost')
  }

  @Job({
    name: 'dead masters',
    scope: 'leader',
    everyMs: 0,
    due: `${DEAD_MASTERS} UNION ALL ${LEFT_BEHIND_PARTICIPANTS}`,
  })
  async markLostOfDeadMasters(): Promise<void> {
    await this.presence.clearDeadlinesOfDeadMasters(MASTER_SILENT_SECONDS)
    await this.membership.removeDeadMasters()
    // The participants of a dead master have the usual window to resume at another.
    await this.presence.markLostOfDeadMasters(SIGNALLING_WINDOWS.evict)
  }

  @Job({ name: 'evictions', scope: 'leader', everyMs: 0, due: OVERDUE_PARTICIPANTS, isSlow: true })
  async evictOverdue({ isStopping }: Pick<JobRun, 'isStopping'>): Promise<void> {
    await mapConcurrent(await this.presence.overdue(), CONCURRENT_EVICTIONS, async (connectionId) => {
      if (isStopping()) return
      await this.connections.depart(connectionId, 'networkDisconnect', 'overdue').catch((error: unknown) => {
        this.#logger.warn({ err: error, connectionId }, 'evicting a participant failed, will retry')
      })
    })
  }
}
