import { ServiceError } from '@session-service/contract'
import { type Deferred, deferred } from '../platform/deferred.js'
import type { Presence } from '../signalling/notification.js'

/** Streams whose media was lost with its node and that their publishers have not brought back yet. */
export class LostStreams {
  readonly #lost = new Map<string, Deferred<void>>()

  get ids(): string[] {
    return [...this.#lost.keys()]
  }

  has(streamId: string): boolean {
    return this.#lost.has(streamId)
  }

  add(streamId: string): void {
    if (this.#lost.has(streamId)) return
    const back = deferred<void>()
    back.promise.catch(() => {})
    this.#lost.set(streamId, back)
  }

  back(streamId: string): void {
    this.#lost.get(streamId)?.resolve()
    this.#lost.delete(streamId)
  }

  gone(streamId: string): void {
    this.#lost.get(streamId)?.reject(new ServiceError('NOT_FOUND', `stream ${streamId} has ended`))
    this.#lost.delete(streamId)
  }

  /** Resolves when the stream is not lost, or not any more; rejects with NOT_FOUND when it does not come back. */
  async there(streamId: string): Promise<void> {
    await this.#lost.get(streamId)?.promise
  }

  close(): void {
    for (const streamId of this.ids) this.gone(streamId)
  }

  /** What a snapshot shows, and the lost streams of those who are still there, as they were `before`. */
  kept(snapshot: Presence, before: Presence): Presence {
    const shown = new Set(snapshot.streams.map(({ streamId }) => streamId))
    const present = new Set(snapshot.connections.map(({ connectionId }) => connectionId))
    const missing = before.streams.filter(
      ({ streamId, connectionId }) => this.has(streamId) && !shown.has(streamId) && present.has(connectionId),
    )
    return { connections: snapshot.connections, streams: [...snapshot.streams, ...missing] }
  }
}
