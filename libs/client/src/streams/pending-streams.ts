import { ServiceError } from '@session-service/contract'
import { type Deferred, deferred } from '../platform/deferred.js'
import type { RosterSnapshot } from '../signalling/notification.js'

/** Streams whose media was lost with its node and that their publishers have not brought back yet. */
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
    const back = deferred<void>()
    back.promise.catch(() => {})
    this.#pending.set(streamId, back)
  }

  restored(streamId: string): void {
    this.#pending.get(streamId)?.resolve()
    this.#pending.delete(streamId)
  }

  ended(streamId: string): void {
    this.#pending.get(streamId)?.reject(new ServiceError('NOT_FOUND', `stream ${streamId} has ended`))
    this.#pending.delete(streamId)
  }

  /** Resolves when the stream is not lost, or not any more; rejects with NOT_FOUND when it does not come back. */
  async available(streamId: string): Promise<void> {
    await this.#pending.get(streamId)?.promise
  }

  close(): void {
    for (const streamId of this.ids) this.ended(streamId)
  }

  /** What a snapshot shows, and the lost streams of those who are still there, as they were `before`. */
  withPending(snapshot: RosterSnapshot, before: RosterSnapshot): RosterSnapshot {
    const shown = new Set(snapshot.streams.map(({ streamId }) => streamId))
    const present = new Set(snapshot.connections.map(({ connectionId }) => connectionId))
    const missing = before.streams.filter(
      ({ streamId, connectionId }) => this.has(streamId) && !shown.has(streamId) && present.has(connectionId),
    )
    return { connections: snapshot.connections, streams: [...snapshot.streams, ...missing] }
  }
}
