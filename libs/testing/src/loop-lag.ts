/** The longest blocking of a process' event loop in the last seconds, from its own metric, ms. */
export async function loopLagMs({ opsUrl }: { opsUrl: string }): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  const value = /^session_service_eventloop_lag_seconds (\S+)$/m.exec(text)?.[1]
  if (value === undefined) throw new Error('the process has no metric of the event loop')
  return Number(value) * 1_000
}

/** The smallest value that at least this fraction of all values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}
