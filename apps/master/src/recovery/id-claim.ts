/** What the process that holds the id of a node answered when it was asked: it lives, has no connection, is silent. */
export type HolderAnswer = 'alive' | 'absent' | 'silent'

export interface IdClaim {
  holder: HolderAnswer
  /** The row still counts the holder as connected: it has not been found lost. */
  isConnected: boolean
  /** Another master hears the holder, this one does not: the bus may be split. */
  isHeardElsewhere: boolean
  /** How long this master has been on the bus without a break, ms: after one, processes reconnect one by one. */
  busSettledMs: number
}

/** `admit`: the id passes to the process that registers. `wait`: it has to ask again, the holder may be alive. */
export type ClaimDecision = 'admit' | 'refuse' | 'wait'

/** After a break of the bus a process that is alive is back within this long, ms. */
const RECONNECTED_MS = 3_000

/** Decides about a process that registers with the id of a node which another process holds. */
export function decideClaim({ holder, isConnected, isHeardElsewhere, busSettledMs }: IdClaim): ClaimDecision {
  if (holder === 'alive') return 'refuse'
  if (!isConnected) return 'admit'
  return holder === 'absent' && !isHeardElsewhere && busSettledMs >= RECONNECTED_MS ? 'admit' : 'wait'
}
