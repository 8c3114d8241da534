import { Bus } from '@session-service/messaging'
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common'
import { DiscoveryService } from '@nestjs/core'
import { DataSource } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../config/configuration.module.js'
import { ClusterMembership } from './cluster-membership.js'
import { type RegisteredJob, registeredJobs } from './job-registry.js'
import { dueJobs } from './due-jobs.js'
import { LeaderLease } from './leader-lease.js'

const TICK_MS = 1_000

/** Runs the jobs of all features. Deadlines are in the database, so that any master can become the leader. */
@Injectable()
export class Scheduler implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  readonly #logger = new Logger(Scheduler.name)
  readonly #lease: LeaderLease
  readonly #lastRun = new Map<string, number>()
  #jobs: RegisteredJob[] = []
  #timer: NodeJS.Timeout | undefined
  #shutdownRenewals: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isStopping = false

  constructor(
    private readonly dataSource: DataSource,
    private readonly bus: Bus,
    private readonly membership: ClusterMembership,
    private readonly discovery: DiscoveryService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    this.#lease = new LeaderLease(dataSource)
  }

  async onModuleInit(): Promise<void> {
    this.#jobs = registeredJobs(this.discovery, this.config)
    await this.membership.renew()
  }

  onApplicationBootstrap(): void {
    this.#schedule()
  }

  /** Keeps the membership alive until the shutdown is complete: the clients move to other masters meanwhile. */
  async onModuleDestroy(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    this.#shutdownRenewals = setInterval(() => void this.membership.renew().catch(() => undefined), TICK_MS)
    await this.#running
    await this.#lease.release()
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.#shutdownRenewals)
    await this.membership.leave().catch(() => undefined)
  }

  #schedule(): void {
    if (this.#isStopping) return
    this.#timer = setTimeout(() => {
      this.#running = this.#tick(performance.now()).finally(() => this.#schedule())
    }, TICK_MS)
  }

  async #tick(now: number): Promise<void> {
    try {
      await this.membership.renew()
      const { hasQuorum } = this.membership
      if (!hasQuorum) await this.#lease.release()
      const isLeader = hasQuorum && (await this.#lease.acquire())
      // Jobs notify clients and nodes of what they change.
      if (!this.bus.connected) return
      const jobs = this.#jobs.filter((job) => (isLeader || job.scope !== 'leader') && this.#isTimeFor(job, now))
      for (const job of await dueJobs(this.dataSource, jobs)) await this.#run(job, now)
    } catch (error) {
      this.#logger.warn({ err: error }, 'the scheduled jobs could not run')
    }
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
      assertLeader: this.#lease.assertHeld.bind(this.#lease),
    }
    // A job that fails does not keep the others from running.
    await run(context).catch((error: unknown) => this.#logger.warn({ err: error, job: name }, 'scheduled job failed'))
  }
}
