/** This master among the masters of the cluster, as the scheduler needs it. */
export abstract class ClusterMembership {
  /** Shows the other masters that this one is alive. */
  abstract renew(): Promise<void>
  /** Whether this master may act for the cluster, as of the last renewal. */
  abstract readonly hasQuorum: boolean
  /** Lets the others know at once that this master has ended. */
  abstract leave(): Promise<void>
}
