/** Result of a probe of the process that holds the id: it answered, is not on the bus, or did not answer. */
export type HolderAnswer = 'alive' | 'absent' | 'silent'

export interface IdClaim {
  holder: HolderAnswer
  /** The row of the holder is connected: its loss was not detected. */
  isConnected: boolean
  /** Only another master receives heartbeats of the holder: the bus may be split. */
  isAliveElsewhere: boolean
  /** Time since this master (re)connected to the bus, ms. After an outage, processes reconnect one by one. */
  busConnectedMs: number
}

/** `admit`: the registering process gets the id. `wait`: it has to retry, since the holder may be alive. */
export type ClaimDecision = 'admit' | 'refuse' | 'wait'

/** A live process reconnects within this time after an outage of the bus, ms. */
const RECONNECTED_MS = 3_000

/** Decides about the registration of a process with an id that another process holds. */
export function decideClaim({ holder, isConnected, isAliveElsewhere, busConnectedMs }: IdClaim): ClaimDecision {
  if (holder === 'alive') return 'refuse'
  if (!isConnected) return 'admit'
  return holder === 'absent' && !isAliveElsewhere && busConnectedMs >= RECONNECTED_MS ? 'admit' : 'wait'
}
