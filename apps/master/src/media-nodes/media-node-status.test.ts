import { MediaNodeStatus } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { mayBeRequested, mayBecome } from './media-node-status.js'

const WAITING = 'waiting-idle-to-terminate'
type Pair = `${MediaNodeStatus} → ${MediaNodeStatus}`
const ALLOWED: readonly Pair[] = [
  'launching → canceled',
  'launching → failed',
  'launching → running',
  'canceled → launching',
  'canceled → terminating',
  `running → ${WAITING}`,
  'running → terminating',
  `${WAITING} → running`,
  `${WAITING} → terminating`,
  'terminating → terminated',
]
/** Transitions that only the service makes; clients must not request them. */
const INTERNAL: readonly Pair[] = [
  'launching → failed',
  'launching → running',
  'canceled → terminating',
  'terminating → terminated',
]
const PAIRS = MediaNodeStatus.options.flatMap((from) =>
  MediaNodeStatus.options.map((to) => ({ from, to, pair: `${from} → ${to}` satisfies Pair })),
)

describe.each(PAIRS)('$pair', ({ from, to, pair }) => {
  const isAllowed = ALLOWED.includes(pair)
  it(isAllowed ? 'is allowed' : 'is not allowed', () => {
    expect(mayBecome(from, to)).toBe(isAllowed)
  })
  const isRequestable = isAllowed && !INTERNAL.includes(pair)
  it(isRequestable ? 'may be requested' : 'is rejected as a request', () => {
    expect(mayBeRequested(from, to)).toBe(isRequestable)
  })
})
