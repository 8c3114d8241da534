import { MediaNodeStatus } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { mayBeAskedToBecome, mayBecome, sourcesOf } from './media-node-status.js'

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
/** What happens to a node by itself nobody may ask for. */
const BY_ITSELF: readonly Pair[] = [
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
  it(isAllowed ? 'happens' : 'never happens', () => {
    expect(mayBecome(from, to)).toBe(isAllowed)
    expect(sourcesOf(to).includes(from)).toBe(isAllowed)
  })
  const isAskable = isAllowed && !BY_ITSELF.includes(pair)
  it(isAskable ? 'may be asked for' : 'is refused', () => {
    expect(mayBeAskedToBecome(from, to)).toBe(isAskable)
  })
})
