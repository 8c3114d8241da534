import { Bus } from '@session-service/messaging'
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { DiscoveryService } from '@nestjs/core'
import { DataSource } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../config/configuration.module.js'
import { ClusterMembership } from './cluster-membership.js'
import { type RegisteredJob, registeredJobs } from './job-registry.js'
import { dueJobsSelect } from './due-jobs.js'
import { LeaderLease } from './leader-lease.js'
import type { PeriodicReader } from './periodic-read.js'

/** A leader without the bus remains the leader for this long, ms: a restart of the bus must not change leaders. */
const BUS_GRACE_MS = 5_000

/** Runs the jobs of all features. Deadlines are in the database, so that any master can become the leader. */
@Injectable()
export class Scheduler implements PeriodicReader, OnModuleInit, OnModuleDestroy {
  readonly #logger = new Logger(Scheduler.name)
  readonly lease: LeaderLease
  readonly #lastRun = new Map<string, number>()
  #jobs: RegisteredJob[] = []
  #running: Promise<void> | undefined
  /** The runs of slow jobs. */
  readonly #slowRuns = new Map<string, Promise<void>>()
  /** The last tick with a connection to the bus, by `performance.now()`. */
  #connectedAt = -Infinity
  #isStopping = false

  constructor(
    dataSource: DataSource,
    private readonly bus: Bus,
    private readonly membership: ClusterMembership,
    private readonly discovery: DiscoveryService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    this.lease = new LeaderLease(dataSource)
  }

  onModuleInit(): void {
    this.#jobs = registeredJobs(this.discovery, this.config)
  }

  async onModuleDestroy(): Promise<void> {
    this.#isStopping = true
    await this.#running
    // Before the slow jobs end: another master can become the leader meanwhile.
    await this.lease.release()
    await Promise.all(this.#slowRuns.values())
  }

  get periodicRead(): string {
    return dueJobsSelect(this.#jobs)
  }

  /** Runs the due jobs, unless those of an earlier read are still running. */
  receive(rows: readonly object[], askedAt: number): void {
    if (this.#isStopping || this.#running) return
    const due = new Set((rows as { name: string }[]).map(({ name }) => name))
    this.#running = this.#runDue(due, askedAt).finally(() => (this.#running = undefined))
  }

  async #runDue(due: ReadonlySet<string>, now: number): Promise<void> {
    try {
      const { hasQuorum } = this.membership
      if (this.bus.connected) this.#connectedAt = now
      // Another master may reach the nodes and the other masters.
      if (!hasQuorum || now - this.#connectedAt > BUS_GRACE_MS) await this.lease.release()
      // Jobs notify clients and nodes of what they change.
      if (!this.bus.connected) return
      const isLeader = hasQuorum && (await this.lease.acquire())
      const jobs = this.#jobs.filter((job) => (isLeader || job.scope !== 'leader') && this.#isTimeFor(job, now))
      for (const job of jobs) {
        if (job.due !== undefined && !due.has(job.name)) continue
        if (job.isSlow) this.#runBeside(job, now)
        else await this.#run(job, now)
      }
    } catch (error) {
      this.#logger.warn({ err: error }, 'the scheduled jobs could not run')
    }
  }

  /** A run that takes longer than the interval is not followed by another one before its end. */
  #runBeside(job: RegisteredJob, now: number): void {
    if (this.#slowRuns.has(job.name)) return
    const run = this.#run(job, now).finally(() => this.#slowRuns.delete(job.name))
    this.#slowRuns.set(job.name, run)
  }

  #isTimeFor({ name, everyMs }: RegisteredJob, now: number): boolean {
    return now - (this.#lastRun.get(name) ?? -Infinity) >= everyMs
  }

  async #run({ name, run }: RegisteredJob, now: number): Promise<void> {
    if (this.#isStopping) return
    this.#lastRun.set(name, now)
    const context = {
      now,
      isStopping: () => this.#isStopping,
      assertLeader: this.lease.assertHeld.bind(this.lease),
    }
    // A job that fails does not keep the others from running.
    await run(context).catch((error: unknown) => this.#logger.warn({ err: error, job: name }, 'scheduled job failed'))
  }
}
