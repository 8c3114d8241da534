/** How many wrong tries a source has at once, how many more a second, and how many sources are remembered. */
export interface AttemptLimits {
  burst: number
  perSecond: number
  sources: number
}

const LIMITS: AttemptLimits = { burst: 60, perSecond: 1, sources: 10_000 }

/** Who tried wrong credentials how often: a leaking bucket per source. Times are ms of any steady clock. */
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

  /** Returns whether the source is throttled from now on: once, until half of its burst has leaked. */
  failed(source: string, now: number): boolean {
    const before = this.#level(source, now)
    const level = before + 1
    const wasReported = before > this.limits.burst / 2 && this.#levels.get(source)?.isReported === true
    const isThrottled = level > this.limits.burst - 1
    // Whoever failed last goes to the end: the longest quiet is forgotten first.
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

/** One name per source: an IPv4 address as it is, of IPv6 the network of 64 bits, which one customer has whole. */
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
