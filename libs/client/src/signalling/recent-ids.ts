/** The last ids that were added, oldest first. */
export class RecentIds {
  readonly #ids = new Set<number>()

  constructor(readonly limit: number) {}

  get list(): number[] {
    return [...this.#ids]
  }

  /** False when the id is known. */
  add(id: number): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    const [oldest] = this.#ids
    if (this.#ids.size > this.limit && oldest !== undefined) this.#ids.delete(oldest)
    return true
  }
}
