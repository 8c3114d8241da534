import type { DisconnectReason, SessionEndReason } from '@session-service/contract'
import { Injectable, type OnModuleInit } from '@nestjs/common'
import { DiscoveryService } from '@nestjs/core'
import type { EntityManager } from 'typeorm'
import type { EventDraft } from '../events/event-drafts.js'
import { providersWith } from '../platform/discovery/providers-with.js'

/** Effects of the end of a session on other features. */
export interface EndedWithSession {
  /** Recorded after the events of the participants and before `sessionDestroyed`. */
  events: EventDraft[]
  /** Ids of the recordings that stopped. */
  recordingIds: string[]
}

/** Implemented by a feature that reacts to the end of a session. Each method is optional. */
export interface SessionEndHandler {
  /**
   * Decides whether the session stays after its last participant, cameras apart, has left. Runs in the transaction that
   * holds the lock of the session's row.
   */
  keep?(manager: EntityManager, uniqueSessionId: string, reason: DisconnectReason): Promise<boolean>
  /** Ends the feature's part of the session, in the transaction that deletes it and holds the lock of its row. */
  end?(
    manager: EntityManager,
    uniqueSessionId: string,
    reason: SessionEndReason,
    now: number,
  ): Promise<EndedWithSession>
  /** Runs after the commit, before the room of the session is closed. */
  stopped?(recordingIds: readonly string[]): Promise<void>
}

/** Marks a provider as a SessionEndHandler. */
export const SessionEndHook = DiscoveryService.createDecorator()

/** Calls the handlers of all features when a session ends. */
@Injectable()
export class SessionEndHooks implements OnModuleInit {
  #handlers: readonly SessionEndHandler[] = []

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    this.#handlers = providersWith(this.discovery, SessionEndHook)
  }

  async keep(manager: EntityManager, uniqueSessionId: string, reason: DisconnectReason): Promise<boolean> {
    for (const handler of this.#handlers) if (await handler.keep?.(manager, uniqueSessionId, reason)) return true
    return false
  }

  async end(
    manager: EntityManager,
    uniqueSessionId: string,
    reason: SessionEndReason,
    now: number,
  ): Promise<EndedWithSession> {
    const all: EndedWithSession = { events: [], recordingIds: [] }
    for (const handler of this.#handlers) {
      const ended = await handler.end?.(manager, uniqueSessionId, reason, now)
      all.events.push(...(ended?.events ?? []))
      all.recordingIds.push(...(ended?.recordingIds ?? []))
    }
    return all
  }

  /** To be called after the commit, with the recordings that `end` stopped. */
  async stopped(recordingIds: readonly string[]): Promise<void> {
    if (recordingIds.length === 0) return
    for (const handler of this.#handlers) await handler.stopped?.(recordingIds)
  }
}
