import { isIP } from 'node:net'
import { newMediaNodeId, newSecret } from '@session-service/contract'
import type { NodeConfig } from '@session-service/config'
import { serviceClock } from '@session-service/server-kit'

/** The source of the media address. */
interface Announced {
  readonly current: string | undefined
}

/** The ids and addresses of this process. */
export class NodeIdentity {
  /** New at every start. */
  readonly bootId = newSecret()

  constructor(
    readonly nodeId: string,
    private readonly announced: Announced,
    /** The name that the operator or a driver gave to the machine. */
    readonly environmentId = '',
    /** False: the node is not used until it is added over REST. */
    readonly joins = true,
  ) {}

  /** The address to which participants send media; empty while it is unknown: the node registers later. */
  get address(): string {
    return this.announced.current ?? ''
  }

  /** When the process started, UTC ms. */
  get launchedAt(): number {
    return serviceClock.at(0)
  }

  /** The media address in the format of the REST interface. */
  uri(port: number): string {
    return `ws://${isIP(this.address) === 6 ? `[${this.address}]` : this.address}:${port}/mediaserver`
  }
}

export const identify = (config: NodeConfig, announced: Announced): NodeIdentity =>
  new NodeIdentity(
    config.MEDIA_NODE_ID || newMediaNodeId(),
    announced,
    config.MEDIA_NODE_ENVIRONMENT_ID,
    config.MEDIA_NODE_JOIN,
  )
