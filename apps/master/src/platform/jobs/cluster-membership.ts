/** A report of a master to the others, which `ClusterMembership.renewal` writes. */
export interface Renewal {
  /** The parameters of the statement. */
  values: readonly unknown[]
  /** Call it with the row of `renewed`. */
  done: (renewed: object) => void
}

/** This master among the masters of the cluster, as the scheduler needs it. */
export abstract class ClusterMembership {
  /**
   * Common table expressions that report to the other masters that this one is alive, and which media nodes it hears. The
   * last one is `renewed`, with one row.
   */
  abstract readonly renewal: string
  /** The report as of now. */
  abstract report(): Renewal
  /** Whether this master may act for the cluster, as of the last renewal. */
  abstract readonly hasQuorum: boolean
  /** Whether the cluster has had no work for some time. */
  abstract readonly isResting: boolean
  /** Reports to the other masters that this one has ended, so that they do not wait for its silence. */
  abstract leave(): Promise<void>
}
