/** The load of each start of a node since it was last asked for: one moment's says little. */
export class LoadAverages {
  #sums = new Map<string, { total: number; count: number }>()

  add(bootId: string, load: number): void {
    const { total, count } = this.#sums.get(bootId) ?? { total: 0, count: 0 }
    this.#sums.set(bootId, { total: total + load, count: count + 1 })
  }

  /** Of what was added since the last time, in hundredths; the one way to ask. */
  take(): Map<string, number> {
    const averages = [...this.#sums].map(
      ([bootId, { total, count }]) => [bootId, Math.round((total / count) * 100) / 100] as const,
    )
    this.#sums = new Map()
    return new Map(averages)
  }
}
