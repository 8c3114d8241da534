export interface Pairs<T> {
  ours: T[]
  reference: T[]
  /** Pairs that did not count. */
  dropped: number
}

export interface Sides<T> {
  ours: () => Promise<T>
  reference: () => Promise<T>
  /** Whether a run was what it should be; a pair with one that was not is done again. Default: always. */
  sound?: (result: T) => boolean
}

/** For each pair wanted, so many are tried at most. */
const ATTEMPTS = 3

/**
 * Runs both by turns, each pair the other way round than the last, so that neither profits from being second.
 * Throws when too few pairs were sound.
 */
export async function interleave<T>(
  pairs: number,
  { ours, reference, sound = () => true }: Sides<T>,
): Promise<Pairs<T>> {
  const results: Pairs<T> = { ours: [], reference: [], dropped: 0 }
  for (let attempt = 0; results.ours.length < pairs; attempt++) {
    if (attempt === pairs * ATTEMPTS) throw new Error(tooBusy(results, pairs))
    const pair = attempt % 2 === 0 ? [await ours(), await reference()] : [await reference(), await ours()].toReversed()
    if (!pair.every(sound)) {
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
  `${dropped} of ${pairs * ATTEMPTS} pairs of runs were spoilt: this machine is too busy with other things`
