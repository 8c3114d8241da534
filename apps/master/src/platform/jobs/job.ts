import type { MasterConfig } from '@session-service/config'
import { DiscoveryService } from '@nestjs/core'
import type { EntityManager } from 'typeorm'

/** Which masters run a job: the leader alone, or each of them for itself. */
export type JobScope = 'leader' | 'every master'

export interface JobOptions {
  /** For logs; unique. */
  name: string
  scope: JobScope
  /** The interval, ms; 0 means every tick of the scheduler. The job never runs when the function gives undefined. */
  everyMs: number | ((config: MasterConfig) => number | undefined)
}

/** What a job gets with each run. */
export interface JobRun {
  /** The start of the run, by `performance.now()`, ms. */
  now: number
  /** Whether the master is shutting down. */
  isStopping: () => boolean
  /** For a job of the leader: rejects in a transaction unless this master is still the leader. */
  assertLeader: (manager: Pick<EntityManager, 'query'>) => Promise<void>
}

/** A method of a provider that the scheduler calls every so often; see `JobRun` for its argument. */
export const Job = DiscoveryService.createDecorator<JobOptions>()
