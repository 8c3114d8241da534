import { type BucketLimit, TokenBucket } from './token-bucket.js'

/** Limits the requests of each credential with a token bucket. Credentials are configured, so their number is bounded. */
export class RequestLimiter {
  readonly #buckets = new Map<string, TokenBucket>()

  /** `now`: ms of a monotonic clock. */
  constructor(
    private readonly limit: BucketLimit,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Counts a request; returns whole seconds until it is permitted, 0 when it is now. */
  wait(credential: string): number {
    const now = this.now()
    const bucket = this.#buckets.get(credential) ?? new TokenBucket(this.limit, now)
    this.#buckets.set(credential, bucket)
    return bucket.spend(now) ? 0 : Math.max(Math.ceil(bucket.msUntil(now) / 1_000), 1)
  }
}
