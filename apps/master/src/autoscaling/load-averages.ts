/** Average load of each boot of a node since the last `take`: a single heartbeat is noisy. */
export class LoadAverages {
  #sums = new Map<string, { total: number; count: number }>()

  add(bootId: string, load: number): void {
    const { total, count } = this.#sums.get(bootId) ?? { total: 0, count: 0 }
    this.#sums.set(bootId, { total: total + load, count: count + 1 })
  }

  /** Returns the averages since the last call, rounded to hundredths, and resets them. */
  take(): Map<string, number> {
    const averages = [...this.#sums].map(
      ([bootId, { total, count }]) => [bootId, Math.round((total / count) * 100) / 100] as const,
    )
    this.#sums = new Map()
    return new Map(averages)
  }
}
