import { CLOSE_CODE, type ErrorCode } from '@session-service/contract'

const FIRST_MS = 250
const LONGEST_MS = 2_000

/** How long to wait before try `attempt` (from 0) of opening a socket; `chance` in [0, 1) spreads clients of one server. */
export const retryDelay = (attempt: number, chance: number): number =>
  attempt === 0 ? chance * FIRST_MS : Math.min(FIRST_MS * 2 ** attempt, LONGEST_MS) * (0.5 + chance / 2)

/** Answers to `resume` that may be others the next time; with any other the participant is not there any more. */
const PASSING: readonly ErrorCode[] = ['NO_CAPACITY', 'UNAVAILABLE', 'TIMEOUT', 'RATE_LIMITED', 'INTERNAL']
export const isRefusal = (code: ErrorCode): boolean => !PASSING.includes(code)

/** Answers about media that no other media node and no later moment would change. */
const PERMANENT: readonly ErrorCode[] = ['INVALID', 'NOT_ALLOWED', 'UNAUTHENTICATED', 'DISABLED']
export const isPermanent = (code: ErrorCode): boolean => PERMANENT.includes(code)

/** Whether a server that closed with `code` has said that this participant need not come back. */
export const isFinalClose = (code: number): boolean => code === CLOSE_CODE.done || code === CLOSE_CODE.replaced
