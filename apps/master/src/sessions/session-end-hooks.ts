import type { DisconnectReason, SessionEndReason } from '@session-service/contract'
import { Injectable, type OnModuleInit } from '@nestjs/common'
import { DiscoveryService } from '@nestjs/core'
import type { EntityManager } from 'typeorm'
import type { EventDraft } from '../events/event-drafts.js'
import { providersWith } from '../platform/discovery/providers-with.js'

export interface EndingSession {
  uniqueSessionId: string
  reason: SessionEndReason
}

/** A session that its last participant, cameras apart, has left. */
export interface EmptiedSession {
  uniqueSessionId: string
  reason: DisconnectReason
}

/** Effects of the end of a session on other features. */
export interface EndedWithSession {
  /** Recorded after the events of the participants and before `sessionDestroyed`. */
  events: EventDraft[]
  /** Ids of the recordings that stopped. */
  recordingIds: string[]
}

/**
 * Implemented by a feature that reacts to the ends of sessions. Each method is optional. Those with a manager run in a
 * transaction that holds the locks of the sessions' rows; they get at least one session, and their results are by
 * `uniqueSessionId`.
 */
export interface SessionEndHandler {
  /** Returns the sessions that stay after their last participants have left. */
  keep?(manager: EntityManager, emptied: readonly EmptiedSession[]): Promise<ReadonlySet<string>>
  /** The last cameras have left sessions without other participants; the sessions stay. */
  deserted?(manager: EntityManager, uniqueSessionIds: readonly string[]): Promise<void>
  /** Ends the feature's part of the sessions, in the transaction that deletes them. */
  end?(
    manager: EntityManager,
    ending: readonly EndingSession[],
    now: number,
  ): Promise<ReadonlyMap<string, EndedWithSession>>
  /** Runs after the commit, before the room of the session is closed. */
  stopped?(recordingIds: readonly string[]): Promise<void>
}

/** Marks a provider as a SessionEndHandler. */
export const SessionEndHook = DiscoveryService.createDecorator()

/** Calls the handlers of all features when sessions end. */
@Injectable()
export class SessionEndHooks implements OnModuleInit {
  #handlers: readonly SessionEndHandler[] = []

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    this.#handlers = providersWith(this.discovery, SessionEndHook)
  }

  async keep(manager: EntityManager, emptied: readonly EmptiedSession[]): Promise<ReadonlySet<string>> {
    const kept = new Set<string>()
    for (const handler of this.#handlers) {
      const others = emptied.filter(({ uniqueSessionId }) => !kept.has(uniqueSessionId))
      if (others.length === 0) break
      for (const id of (await handler.keep?.(manager, others)) ?? []) kept.add(id)
    }
    return kept
  }

  async deserted(manager: EntityManager, uniqueSessionIds: readonly string[]): Promise<void> {
    for (const handler of this.#handlers) await handler.deserted?.(manager, uniqueSessionIds)
  }

  /** The effects on all features, for each of the sessions. */
  async end(
    manager: EntityManager,
    ending: readonly EndingSession[],
    now: number,
  ): Promise<ReadonlyMap<string, EndedWithSession>> {
    const all = new Map(
      ending.map(({ uniqueSessionId }): [string, EndedWithSession] => [
        uniqueSessionId,
        { events: [], recordingIds: [] },
      ]),
    )
    if (ending.length === 0) return all
    for (const handler of this.#handlers)
      for (const [id, { events, recordingIds }] of (await handler.end?.(manager, ending, now)) ?? []) {
        all.get(id)?.events.push(...events)
        all.get(id)?.recordingIds.push(...recordingIds)
      }
    return all
  }

  /** To be called after the commit, with the recordings that `end` stopped. */
  async stopped(recordingIds: readonly string[]): Promise<void> {
    if (recordingIds.length === 0) return
    for (const handler of this.#handlers) await handler.stopped?.(recordingIds)
  }
}
