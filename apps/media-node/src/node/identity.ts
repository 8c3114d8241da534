import { isIP } from 'node:net'
import type { NetworkInterfaceInfo } from 'node:os'
import { newMediaNodeId, newSecret } from '@session-service/contract'
import type { NodeConfig } from '@session-service/config'
import { serviceClock } from '@session-service/server-kit'

/** The ids and addresses of this process. */
export class NodeIdentity {
  /** New at every start. */
  readonly bootId = newSecret()

  constructor(
    readonly nodeId: string,
    /** The address to which participants send media. */
    readonly address: string,
    /** The name that the operator or a driver gave to the machine. */
    readonly environmentId = '',
    /** False: the node is not used until it is added over REST. */
    readonly joins = true,
  ) {}

  /** When the process started, UTC ms. */
  get launchedAt(): number {
    return serviceClock.at(0)
  }

  /** The media address in the format of the REST interface. */
  uri(port: number): string {
    return `ws://${isIP(this.address) === 6 ? `[${this.address}]` : this.address}:${port}/mediaserver`
  }
}

type Interfaces = Readonly<Record<string, NetworkInterfaceInfo[] | undefined>>

const UNSPECIFIED = new Set(['0.0.0.0', '::'])

export const identify = (config: NodeConfig, interfaces: Interfaces): NodeIdentity =>
  new NodeIdentity(
    config.MEDIA_NODE_ID || newMediaNodeId(),
    config.MEDIA_NODE_ANNOUNCED_ADDRESS || ownAddress(config.MEDIA_NODE_IP, interfaces),
    config.MEDIA_NODE_ENVIRONMENT_ID,
    config.MEDIA_NODE_JOIN,
  )

/** A node that listens on all interfaces is reached at its first external IPv4 address, or else at loopback. */
function ownAddress(listenIp: string, interfaces: Interfaces): string {
  if (isIP(listenIp) && !UNSPECIFIED.has(listenIp)) return listenIp
  const addresses = Object.values(interfaces).flatMap((of) => of ?? [])
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1'
}
