import type { NotificationParams, StreamDestroyedReason } from '@session-service/contract'
import type { RosterSnapshot } from '../signalling/notification.js'
import type { SessionContext } from './context.js'
import type { Publisher } from './publisher.js'

type Session = Pick<SessionContext, 'call' | 'ownConnectionId' | 'publishers'> & {
  readonly state: 'connected' | 'reconnecting' | 'disconnected'
}

/** Publishers whose `publish` request is pending, and what the server reports about own streams without a publisher. */
export class PendingPublications {
  readonly #publishers = new Set<Publisher>()
  /** Each belongs to a pending request, or to one that failed because its answer was lost. */
  readonly #possibleOrphans = new Set<string>()
  /** Why own streams have ended, by their ids: the notification may arrive before the answer to `publish`. */
  readonly #ended = new Map<string, StreamDestroyedReason>()
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  get publishers(): readonly Publisher[] {
    return [...this.#publishers]
  }

  /** Runs the publication of this publisher. */
  async run(publisher: Publisher, publication: () => Promise<unknown>): Promise<void> {
    this.#publishers.add(publisher)
    try {
      await publication()
    } finally {
      this.#publishers.delete(publisher)
      if (this.#publishers.size === 0) this.#ended.clear()
      this.#unpublishOrphans()
    }
  }

  /** A stream has ended. */
  ended({ streamId, connectionId, reason }: NotificationParams<'streamDestroyed'>): void {
    const isOwn = connectionId === this.#session.ownConnectionId
    if (isOwn && this.#publishers.size > 0) this.#ended.set(streamId, reason)
  }

  /** Why the stream of a publication has ended that was only just answered. */
  endOf(streamId: string): StreamDestroyedReason | undefined {
    return this.#ended.get(streamId)
  }

  /** Leaves out own streams without a publisher: a pending `publish` adds its stream itself, a failed one never does. */
  withoutUnknown(snapshot: RosterSnapshot): RosterSnapshot {
    const unknown = this.#unknown(snapshot)
    const streams = snapshot.streams.filter(({ streamId }) => !unknown.includes(streamId))
    return { connections: snapshot.connections, streams }
  }

  /** Unpublishes streams that the server created but whose answer was lost with the socket, so that `publish` rejected. */
  unpublishUnknown(snapshot: RosterSnapshot): void {
    for (const streamId of this.#unknown(snapshot)) this.#possibleOrphans.add(streamId)
    this.#unpublishOrphans()
  }

  clear(): void {
    this.#publishers.clear()
  }

  #unknown({ streams }: RosterSnapshot): string[] {
    const { ownConnectionId, publishers } = this.#session
    return streams
      .filter(({ connectionId, streamId }) => connectionId === ownConnectionId && !publishers.has(streamId))
      .map(({ streamId }) => streamId)
  }

  #unpublishOrphans(): void {
    const { publishers, state } = this.#session
    if (this.#publishers.size > 0 || state === 'disconnected') return
    for (const streamId of this.#possibleOrphans)
      if (!publishers.has(streamId)) this.#session.call('unpublish', { streamId }).catch(() => {})
    this.#possibleOrphans.clear()
  }
}
