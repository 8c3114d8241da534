/** The delay of a `Retry-After` header, in seconds or as a date, ms from `now`; 0 without a valid one. */
export function retryAfter(header: string | undefined, now: number): number {
  if (header === undefined) return 0
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const date = Date.parse(header)
  return Number.isNaN(date) ? 0 : Math.max(date - now, 0)
}
