import { ServiceError } from '@session-service/contract'
import { type Deferred, deferred } from '../platform/deferred.js'
import type { RosterSnapshot } from '../signalling/notification.js'

/** Streams whose media was lost with its node and whose publishers have not restored it yet. */
export class PendingStreams {
  readonly #pending = new Map<string, Deferred<void>>()

  get ids(): string[] {
    return [...this.#pending.keys()]
  }

  has(streamId: string): boolean {
    return this.#pending.has(streamId)
  }

  add(streamId: string): void {
    if (this.#pending.has(streamId)) return
    const restored = deferred<void>()
    restored.promise.catch(() => {})
    this.#pending.set(streamId, restored)
  }

  restored(streamId: string): void {
    this.#pending.get(streamId)?.resolve()
    this.#pending.delete(streamId)
  }

  ended(streamId: string): void {
    this.#pending.get(streamId)?.reject(new ServiceError('NOT_FOUND', `stream ${streamId} has ended`))
    this.#pending.delete(streamId)
  }

  /** Resolves when the stream is available; rejects with NOT_FOUND when it ends instead. */
  async available(streamId: string): Promise<void> {
    await this.#pending.get(streamId)?.promise
  }

  close(): void {
    for (const streamId of this.ids) this.ended(streamId)
  }

  /** Adds to a snapshot the pending streams of connections that still exist, with their properties from `before`. */
  withPending(snapshot: RosterSnapshot, before: RosterSnapshot): RosterSnapshot {
    const listed = new Set(snapshot.streams.map(({ streamId }) => streamId))
    const present = new Set(snapshot.connections.map(({ connectionId }) => connectionId))
    const missing = before.streams.filter(
      ({ streamId, connectionId }) => this.has(streamId) && !listed.has(streamId) && present.has(connectionId),
    )
    return { connections: snapshot.connections, streams: [...snapshot.streams, ...missing] }
  }
}
