import { leastLoaded, type WorkerLoad } from '../workers/least-loaded.js'

export interface BranchLoad {
  /** Tracks the branch forwards, or will for those who just came. */
  load: number
}

export type BranchChoice<B, W> = { join: B } | { open: W }

export interface BranchQuestion<B, W> {
  /** In the order in which they were opened; at least one. */
  branches: readonly B[]
  /** Living workers on which the room has no branch yet. */
  otherWorkers: Iterable<W>
  /** Tracks that will be forwarded to the one who comes. */
  expected: number
  /** Tracks a branch is to forward at most. */
  budget: number
}

/**
 * The part of a room for the next peer: the oldest branch with room to spare, so that younger ones empty again when
 * people leave; else a new one; with a branch on every worker, the one with the least to forward.
 */
export function chooseBranch<B extends BranchLoad, W extends WorkerLoad>(
  question: BranchQuestion<B, W>,
): BranchChoice<B, W> {
  const { branches, otherWorkers, expected, budget } = question
  const roomy = branches.find(({ load }) => load === 0 || load + expected <= budget)
  if (roomy) return { join: roomy }
  const worker = leastLoaded(otherWorkers)
  if (worker) return { open: worker }
  return { join: branches.reduce((best, branch) => (branch.load < best.load ? branch : best)) }
}
