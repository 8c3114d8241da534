/** Pause before the next attempt, by the number of failed ones, ms. */
const PAUSES_MS = [0, 1_000, 2_000, 4_000, 8_000]

/** When what failed may be tried again, by id. */
export class BackOff {
  private readonly failures = new Map<string, { count: number; until: number }>()

  constructor(private readonly now: () => number = () => performance.now()) {}

  isOver(id: string): boolean {
    return this.now() >= (this.failures.get(id)?.until ?? -Infinity)
  }

  note(id: string, succeeded: boolean): void {
    if (succeeded) {
      this.failures.delete(id)
      return
    }
    const count = (this.failures.get(id)?.count ?? 0) + 1
    const pauseMs = PAUSES_MS[Math.min(count, PAUSES_MS.length - 1)] ?? 0
    this.failures.set(id, { count, until: this.now() + pauseMs })
  }

  /** Forgets all others. */
  keepOnly(ids: readonly string[]): void {
    const kept = new Set(ids)
    for (const id of this.failures.keys()) if (!kept.has(id)) this.failures.delete(id)
  }
}
