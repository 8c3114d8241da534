import { Injectable } from '@nestjs/common'
import { Job } from '../../platform/jobs/job.js'
import { SocketRegistry } from '../../signalling/sockets/socket-registry.js'
import type { LegacyParticipant } from './legacy-client.js'

const FORGET_EVERY_MS = 30_000

/** The participants of this master with clients of version 2, for the next sockets of these clients. */
@Injectable()
export class LegacyParticipants {
  readonly #participants = new Map<string, LegacyParticipant>()
  #silent: ReadonlySet<string> = new Set()

  constructor(private readonly sockets: SocketRegistry) {}

  get(connectionId: string): LegacyParticipant | undefined {
    return this.#participants.get(connectionId)
  }

  set(connectionId: string, participant: LegacyParticipant): void {
    this.#participants.set(connectionId, participant)
  }

  delete(connectionId: string): void {
    this.#participants.delete(connectionId)
  }

  /** Forgets those that had no socket for two rounds: they have been evicted, or are at another master. */
  @Job({ name: 'ended clients of version 2', scope: 'every master', everyMs: FORGET_EVERY_MS })
  async forgetEnded(): Promise<void> {
    const held = new Set([...this.sockets.entries()].map(([connectionId]) => connectionId))
    const silent = [...this.#participants.keys()].filter((connectionId) => !held.has(connectionId))
    for (const connectionId of silent) if (this.#silent.has(connectionId)) this.#participants.delete(connectionId)
    this.#silent = new Set(silent)
  }
}
