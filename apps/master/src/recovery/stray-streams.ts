/** A stream on a node gets its row within this time, ms: longer than the request timeout of the node. */
const PUBLISH_MS = 8_000

/** Detects streams on media nodes without a row. A publication in progress has no row yet, hence the delay. */
export class StrayStreams {
  /** First detection of each stream without a row, by node. */
  readonly #firstSeen = new Map<string, ReadonlyMap<string, number>>()

  /**
   * Applies an inventory of a node, with its streams without a row. Returns those that had none long enough ago either.
   * `now` is monotonic, ms.
   */
  check(nodeId: string, rowless: readonly string[], now: number): string[] {
    const before = this.#firstSeen.get(nodeId)
    const since = new Map(rowless.map((streamId) => [streamId, before?.get(streamId) ?? now]))
    if (since.size > 0) this.#firstSeen.set(nodeId, since)
    else this.#firstSeen.delete(nodeId)
    return rowless.filter((streamId) => now - (since.get(streamId) ?? now) >= PUBLISH_MS)
  }

  /** Drops the state of all other nodes. */
  keepOnly(nodeIds: readonly string[]): void {
    for (const nodeId of this.#firstSeen.keys()) if (!nodeIds.includes(nodeId)) this.#firstSeen.delete(nodeId)
  }
}
