/** A publication that a node holds has its row within this long, ms: longer than a node may take to answer. */
const UNDER_WAY_MS = 8_000

/** Streams that media nodes hold and no row stands for: a publication under way has none yet either. */
export class StrayStreams {
  /** Since when, by node. */
  private readonly seen = new Map<string, ReadonlyMap<string, number>>()

  /**
   * A look at a node, which holds these without a row: those that had none in an earlier look either, long enough ago.
   * `now` is monotonic, ms.
   */
  look(nodeId: string, rowless: readonly string[], now: number): string[] {
    const before = this.seen.get(nodeId)
    const since = new Map(rowless.map((streamId) => [streamId, before?.get(streamId) ?? now]))
    if (since.size > 0) this.seen.set(nodeId, since)
    else this.seen.delete(nodeId)
    return rowless.filter((streamId) => now - (since.get(streamId) ?? now) >= UNDER_WAY_MS)
  }

  /** Those of other nodes are forgotten. */
  keepOnly(nodeIds: readonly string[]): void {
    for (const nodeId of this.seen.keys()) if (!nodeIds.includes(nodeId)) this.seen.delete(nodeId)
  }
}
