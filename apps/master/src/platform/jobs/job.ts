import type { MasterConfig } from '@session-service/config'
import { DiscoveryService } from '@nestjs/core'
import type { Queryable } from '../database/sql.js'

/** Which masters run a job: the leader alone, or each of them for itself. */
export type JobScope = 'leader' | 'every master'

interface JobOptions {
  /** For logs; unique. */
  name: string
  scope: JobScope
  /** The interval, ms; 0 means every tick of the scheduler. The job never runs when the function gives undefined. */
  everyMs: number | ((config: MasterConfig) => number | undefined)
  /**
   * A SELECT of rows that the job would change. The scheduler asks for all jobs at once whether there are any, and skips
   * the others. Without it the job always runs.
   */
  due?: string
  /** It may take long, or waits for another system: the other jobs do not wait for it. */
  isSlow?: boolean
}

/** The argument of a job. */
export interface JobRun {
  /** The start of the run, by `performance.now()`, ms. */
  now: number
  /** Whether the master is shutting down. */
  isStopping: () => boolean
  /** For a job of the leader: rejects in a transaction unless this master is still the leader. */
  assertLeader: (queryable: Queryable) => Promise<void>
}

/** Declares a method of a provider as a scheduled job; its argument is a `JobRun`. */
export const Job = DiscoveryService.createDecorator<JobOptions>()
