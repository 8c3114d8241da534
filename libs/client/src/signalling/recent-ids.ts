/** The most recently added ids, oldest first. */
export class RecentIds {
  readonly #ids = new Set<number>()

  constructor(readonly limit: number) {}

  get list(): number[] {
    return [...this.#ids]
  }

  /** Returns false when the id is already known. */
  add(id: number): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    const [oldest] = this.#ids
    if (this.#ids.size > this.limit && oldest !== undefined) this.#ids.delete(oldest)
    return true
  }
}
