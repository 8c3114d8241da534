export interface Pairs<T> {
  ours: T[]
  reference: T[]
  /** Number of pairs that were invalid and repeated. */
  dropped: number
}

interface Sides<T> {
  ours: () => Promise<T>
  reference: () => Promise<T>
  /** Says whether a run is valid; a pair with an invalid run is repeated. Default: every run is valid. */
  isValid?: (result: T) => boolean
}

/** Maximum number of attempts, as a multiple of the pairs. */
const ATTEMPTS = 3

/**
 * Runs both sides alternately and reverses the order with each pair, so that neither side profits from being second.
 * Throws when too few pairs are valid.
 */
export async function interleave<T>(
  pairs: number,
  { ours, reference, isValid = () => true }: Sides<T>,
): Promise<Pairs<T>> {
  const results: Pairs<T> = { ours: [], reference: [], dropped: 0 }
  for (let attempt = 0; results.ours.length < pairs; attempt++) {
    if (attempt === pairs * ATTEMPTS) throw new Error(tooBusy(results, pairs))
    const pair = attempt % 2 === 0 ? [await ours(), await reference()] : [await reference(), await ours()].toReversed()
    if (!pair.every(isValid)) {
      results.dropped++
      continue
    }
    const [mine, other] = pair as [T, T]
    results.ours.push(mine)
    results.reference.push(other)
  }
  return results
}

const tooBusy = ({ dropped }: Pairs<unknown>, pairs: number): string =>
  `${dropped} of ${pairs * ATTEMPTS} pairs of runs were invalid: this machine is too busy with other processes`
