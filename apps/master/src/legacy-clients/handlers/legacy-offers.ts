import { KeyedMutex } from '@session-service/server-kit'

/** The client gives up a call after 10 s: an offer without an answer by then gets none. */
const ANSWER_TIMEOUT_MS = 10_000

interface SubscribeOffer {
  sdpOffer: string
  /** The ids of its sections. No other offer has them, and its answer repeats them. */
  mids: readonly string[]
}

/** The newest offer of a stream. */
class LatestOffer {
  #mids: readonly string[] = []
  #timer: NodeJS.Timeout | undefined
  readonly #closed = Promise.withResolvers<void>()
  /** Whether the client still answers it. */
  awaitsAnswer = true
  /** Resolves when its answer was used, when it has none in time, or when it could not be made. */
  readonly closed = this.#closed.promise

  made(mids: readonly string[]): void {
    this.#mids = mids
    this.#timer = setTimeout(() => this.close(), ANSWER_TIMEOUT_MS).unref()
  }

  /** Whether it is the first answer to this offer. */
  accept(mids: readonly string[]): boolean {
    if (!this.#mids.some((mid) => mids.includes(mid))) return false
    this.#mids = []
    this.awaitsAnswer = false
    return true
  }

  close(): void {
    clearTimeout(this.#timer)
    this.awaitsAnswer = false
    this.#closed.resolve()
  }
}

/**
 * The offers for the streams that a client receives. The client and the server both renew media, often at the same time: the
 * answer to a former offer must not be used for the transport of a newer one.
 */
export class LegacyOffers {
  readonly #making = new KeyedMutex()
  readonly #latest = new Map<string, LatestOffer>()

  /** Makes an offer when those before it are made. It replaces them. */
  make(streamId: string, make: () => Promise<SubscribeOffer>): Promise<string> {
    return this.#making.run(streamId, async () => {
      this.#latest.get(streamId)?.close()
      const latest = new LatestOffer()
      this.#latest.set(streamId, latest)
      try {
        const { sdpOffer, mids } = await make()
        latest.made(mids)
        return sdpOffer
      } catch (error) {
        latest.close()
        // The one before it may still get its answer.
        if (this.#latest.get(streamId) === latest) this.#latest.delete(streamId)
        throw error
      }
    })
  }

  /** Calls `renew` when no offer awaits an answer, unless another one was made meanwhile. */
  async renew(streamId: string, renew: () => Promise<void>): Promise<void> {
    const before = this.#latest.get(streamId)
    await this.idle(streamId)
    const latest = this.#latest.get(streamId)
    if (!latest || latest === before) await renew()
  }

  /** Resolves when no offer of the stream is being made or awaits its answer. */
  async idle(streamId: string): Promise<void> {
    let latest: LatestOffer | undefined
    while (latest !== this.#latest.get(streamId)) {
      latest = this.#latest.get(streamId)
      await latest?.closed
    }
  }

  /** Calls `use`, unless the answer is not the first one to the newest offer. @returns whether it did */
  async answer(streamId: string, mids: readonly string[], use: () => Promise<void>): Promise<boolean> {
    const latest = this.#latest.get(streamId)
    // Another master has made the offer.
    if (!latest) await use()
    else if (!latest.accept(mids)) return false
    else await use().finally(() => latest.close())
    return true
  }

  /** Whether the client has an offer to answer. */
  awaitsAnswer(streamId: string): boolean {
    return this.#latest.get(streamId)?.awaitsAnswer ?? false
  }

  /** Ends the subscription to a stream when the offers before are made. */
  end(streamId: string, unsubscribe: () => Promise<void>): Promise<void> {
    return this.#making.run(streamId, () => {
      this.forget(streamId)
      return unsubscribe()
    })
  }

  /** Forgets a stream that has ended. */
  forget(streamId: string): void {
    this.#latest.get(streamId)?.close()
    this.#latest.delete(streamId)
  }

  /** Forgets the offers of lost media: they get no answers. */
  clear(): void {
    for (const latest of this.#latest.values()) latest.close()
    this.#latest.clear()
  }
}
