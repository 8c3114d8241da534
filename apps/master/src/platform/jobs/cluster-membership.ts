/** This master among the masters of the cluster, as the scheduler needs it. */
export abstract class ClusterMembership {
  /** Reports to the other masters that this one is alive, and which media nodes it hears. */
  abstract renew(): Promise<void>
  /** Whether this master may act for the cluster, as of the last renewal. */
  abstract readonly hasQuorum: boolean
  /** Whether the cluster has had no work for some time. */
  abstract readonly isResting: boolean
  /** Reports to the other masters that this one has ended, so that they do not wait for its silence. */
  abstract leave(): Promise<void>
}
