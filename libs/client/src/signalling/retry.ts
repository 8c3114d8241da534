import { CLOSE_CODE, type ErrorCode, ServiceError } from '@session-service/contract'
import type { Clock } from '../platform/clock.js'
import { backoffMs, InterruptibleDelay } from '../platform/delay.js'

/** The close of a socket is known at once, and another server is usually there already. */
const AT_ONCE_MS = 50
const FIRST_MS = 250
const LONGEST_MS = 2_000
const FIRST_TIMEOUT_MS = 3_000
const LONGEST_TIMEOUT_MS = 10_000

/** The delay before attempt `attempt` (from 0) to open a socket, ms. `random` in [0, 1) spreads the clients of a server. */
export const retryDelay = (attempt: number, random: number): number =>
  attempt === 0 ? random * AT_ONCE_MS : backoffMs(attempt, FIRST_MS, LONGEST_MS) * (0.5 + random / 2)

/**
 * The time limit of attempt `attempt` (from 0) to open a socket, and of its resume request, ms. It grows, because browsers
 * delay sockets by up to 5 s after several failures, and slow networks need longer than the first limit.
 */
export const retryTimeout = (attempt: number): number => backoffMs(attempt, FIRST_TIMEOUT_MS, LONGEST_TIMEOUT_MS)

const FIRST_ABUSE_MS = 1_000
/** The server evicts a participant that has no socket for 12 s. */
const LONGEST_ABUSE_MS = 8_000

/** The additional delay after the server has closed `count` sockets in a row because of too many calls, ms. */
export const abuseDelay = (count: number): number =>
  count === 0 ? 0 : backoffMs(count - 1, FIRST_ABUSE_MS, LONGEST_ABUSE_MS)

/** Attempts to open the first socket: the delays between them take 2.75 to 5.5 s. */
const MOST_ATTEMPTS = 5
/** An attempt that takes longer was not refused, ms. */
const LONGEST_REFUSAL_MS = 3_000

/**
 * Opens the first socket again after a refusal. A server refuses sockets for a moment when a crowd comes or it shuts down,
 * and browsers do not say why a socket could not be opened.
 */
export async function openWithRetries<T>(clock: Clock, open: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const startedAt = clock.now()
    try {
      return await open()
    } catch (error) {
      const isRefused = error instanceof ServiceError && clock.now() - startedAt <= LONGEST_REFUSAL_MS
      if (!isRefused || attempt === MOST_ATTEMPTS) throw error
      await new InterruptibleDelay(clock).wait(retryDelay(attempt, clock.random()))
    }
  }
}

/** Errors of `resume` that a later attempt may not get. Any other error means that the participant no longer exists. */
const TRANSIENT: readonly ErrorCode[] = ['NO_CAPACITY', 'UNAVAILABLE', 'TIMEOUT', 'RATE_LIMITED', 'INTERNAL']
export const isRefusal = (code: ErrorCode): boolean => !TRANSIENT.includes(code)

/** Errors of media requests that neither another media node nor a later attempt would avoid. */
const PERMANENT: readonly ErrorCode[] = ['INVALID', 'NOT_ALLOWED', 'UNAUTHENTICATED', 'DISABLED', 'CODEC_REFUSED']
export const isPermanent = (code: ErrorCode): boolean => PERMANENT.includes(code)

/** Tests for an error of a server after which the same call may succeed. */
export const isTransient = (error: unknown): boolean => error instanceof ServiceError && !isPermanent(error.code)

/** Tests for a close code that forbids reconnecting. */
export const isFinalClose = (code: number): boolean => code === CLOSE_CODE.done || code === CLOSE_CODE.replaced
