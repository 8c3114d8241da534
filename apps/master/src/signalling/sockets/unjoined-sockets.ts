import { SIGNALLING_LIMITS } from '@session-service/contract'

/** Counts the sockets that have not joined, per source and in total. */
export class UnjoinedSockets {
  readonly #perSource = new Map<string, number>()
  #total = 0

  constructor(private readonly limits: { source: number; total: number } = SIGNALLING_LIMITS.unjoinedSockets) {}

  get size(): number {
    return this.#total
  }

  /** The limit that one more socket of the source would exceed. */
  exceededBy(source: string): 'source' | 'total' | undefined {
    if ((this.#perSource.get(source) ?? 0) >= this.limits.source) return 'source'
    return this.#total >= this.limits.total ? 'total' : undefined
  }

  /** Counts a socket; the result, called once or more often, takes it off again. */
  add(source: string): () => void {
    this.#change(source, 1)
    let isCounted = true
    return () => {
      if (isCounted) this.#change(source, -1)
      isCounted = false
    }
  }

  #change(source: string, by: 1 | -1): void {
    const count = (this.#perSource.get(source) ?? 0) + by
    if (count > 0) this.#perSource.set(source, count)
    else this.#perSource.delete(source)
    this.#total += by
  }
}
