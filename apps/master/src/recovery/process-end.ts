import type { HolderAnswer } from './id-claim.js'

/**
 * Result of a probe of the listener of a process: the process answered; its port refuses connections or belongs to
 * another process; or anything else, such as a time-out.
 */
export type ProcessAnswer = 'running' | 'ended' | 'unclear'

/** The results of the probes of a process: on the bus as holder of the node id, and at its port. */
export interface ProcessProbes {
  holder: HolderAnswer
  process: ProcessAnswer
}

/** `ended`: the process is gone. `unclear`: ask again, and leave the decision to the silent window in the end. */
export type ProcessEndDecision = 'ended' | 'alive' | 'unclear'

/**
 * Decides about a process whose connection to the bus has ended. Only two independent proofs together show its end: a
 * process that has lost the bus has no listener there either, and a firewall may refuse connections.
 */
export function decideProcessEnd({ holder, process }: ProcessProbes): ProcessEndDecision {
  if (holder === 'alive' || process === 'running') return 'alive'
  return holder === 'absent' && process === 'ended' ? 'ended' : 'unclear'
}
