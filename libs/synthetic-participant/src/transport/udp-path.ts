import type { TransportOptions } from '@session-service/contract'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

const RECEIVE_BUFFER_BYTES = 1_048_576

export interface Endpoint {
  readonly address: string
  readonly port: number
}

/** The UDP candidate with the highest priority; TCP is not spoken here. */
export function bestCandidate(candidates: TransportOptions['iceCandidates']): Endpoint {
  const [best] = candidates.filter(({ protocol }) => protocol === 'udp').toSorted((a, b) => b.priority - a.priority)
  if (!best) throw new Error(`no UDP candidate among ${candidates.length} that the server offers`)
  return best
}

/** One connected UDP socket towards a media node. */
export class UdpPath {
  /** Sends that the system refused: nobody listens there, or its buffer is full. */
  refused = 0
  #open = true

  private constructor(private readonly socket: Socket) {}

  static async open(to: Endpoint, onPacket: (packet: Buffer) => void): Promise<UdpPath> {
    const socket = createSocket(isIPv6(to.address) ? 'udp6' : 'udp4')
    const path = new UdpPath(socket)
    socket.on('message', onPacket)
    // A media node that died answers with ICMP; that shows in the figures and ends nothing here.
    socket.on('error', () => path.refused++)
    socket.connect(to.port, to.address)
    await once(socket, 'connect').catch((error: unknown) => {
      path.close()
      throw error
    })
    if (path.#open) socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES)
    return path
  }

  get localPort(): number {
    return this.#open ? this.socket.address().port : 0
  }

  /** The packet's memory must stay as it is until {@link settled}. */
  send(packet: Buffer): void {
    if (this.#open) this.socket.send(packet)
  }

  /** Whether the system has taken everything sent so far. */
  get settled(): boolean {
    return !this.#open || this.socket.getSendQueueCount() === 0
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.socket.close()
  }
}
