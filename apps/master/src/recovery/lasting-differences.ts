/**
 * A difference that a command in progress makes is gone within this time, ms: longer than the request timeout of a
 * node.
 */
const IN_PROGRESS_MS = 8_000

/**
 * Detects what a media node holds without a row, or a row says without the node holding it. Commands in progress cause
 * such differences too, hence the delay.
 */
export class LastingDifferences {
  /** First detection of each id, by node. */
  readonly #firstSeen = new Map<string, ReadonlyMap<string, number>>()

  /**
   * Takes the ids that differ in an inventory of a node, all of them. Returns those that have differed for long enough.
   * `now` is monotonic, ms.
   */
  check(nodeId: string, different: readonly string[], now: number): string[] {
    const before = this.#firstSeen.get(nodeId)
    const since = new Map(different.map((id) => [id, before?.get(id) ?? now]))
    if (since.size > 0) this.#firstSeen.set(nodeId, since)
    else this.#firstSeen.delete(nodeId)
    return different.filter((id) => now - (since.get(id) ?? now) >= IN_PROGRESS_MS)
  }

  /** Drops the state of all other nodes. */
  keepOnly(nodeIds: readonly string[]): void {
    for (const nodeId of this.#firstSeen.keys()) if (!nodeIds.includes(nodeId)) this.#firstSeen.delete(nodeId)
  }
}
