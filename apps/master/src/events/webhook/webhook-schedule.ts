export interface RetryRules {
  firstMs: number
  longestMs: number
}

/** Delay before the next attempt after `attempts` failed ones: doubled each time, with jitter from half to whole. */
export function retryDelay(attempts: number, { firstMs, longestMs }: RetryRules, random = Math.random()): number {
  const whole = Math.min(firstMs * 2 ** Math.min(attempts - 1, 40), longestMs)
  return Math.round(whole * (0.5 + random / 2))
}

/** What a `Retry-After` header asks for, in ms from now: seconds or a date; 0 without a usable one. */
export function retryAfter(header: string | undefined, now: number): number {
  if (header === undefined) return 0
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const date = Date.parse(header)
  return Number.isNaN(date) ? 0 : Math.max(date - now, 0)
}
