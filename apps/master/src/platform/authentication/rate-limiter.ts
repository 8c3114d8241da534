/** Failed attempts that a source has at once, how many more per second, and how many sources are stored at most. */
interface AttemptLimits {
  burst: number
  perSecond: number
  sources: number
}

const LIMITS: AttemptLimits = { burst: 60, perSecond: 1, sources: 10_000 }

/** Limits failed attempts with a leaky bucket per source. Times are ms of a monotonic clock. */
export class RateLimiter {
  readonly #levels = new Map<string, { level: number; at: number; isReported: boolean }>()

  constructor(private readonly limits: AttemptLimits = LIMITS) {}

  get size(): number {
    return this.#levels.size
  }

  /** Seconds until the source may try again; 0 when it may now. */
  wait(source: string, now: number): number {
    const over = this.#level(source, now) - (this.limits.burst - 1)
    return over > 0 ? Math.ceil(over / this.limits.perSecond) : 0
  }

  /** Counts a failure. True when the throttling begins, for one log line; again after half of the burst has leaked. */
  failed(source: string, now: number): boolean {
    const before = this.#level(source, now)
    const level = before + 1
    const wasReported = before > this.limits.burst / 2 && this.#levels.get(source)?.isReported === true
    const isThrottled = level > this.limits.burst - 1
    // A Map keeps the order of insertion: the source with the oldest failure is removed first.
    this.#levels.delete(source)
    this.#levels.set(source, { level, at: now, isReported: wasReported || isThrottled })
    if (this.#levels.size > this.limits.sources) this.#forgetOldest()
    return isThrottled && !wasReported
  }

  #level(source: string, now: number): number {
    const { level, at } = this.#levels.get(source) ?? { level: 0, at: now }
    return Math.max(0, level - ((now - at) / 1000) * this.limits.perSecond)
  }

  #forgetOldest(): void {
    const { value } = this.#levels.keys().next()
    if (value !== undefined) this.#levels.delete(value)
  }
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** The source of a request: an IPv4 address, or the /64 network of an IPv6 address, which belongs to one customer. */
export function sourceOf(address: string): string {
  const mapped = MAPPED.exec(address)?.[1]
  if (mapped) return mapped
  if (!address.includes(':')) return address
  const [head = '', tail = ''] = address.replace(/%.*$/, '').toLowerCase().split('::', 2)
  const before = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}
