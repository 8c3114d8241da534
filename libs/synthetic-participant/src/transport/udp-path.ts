import type { TransportOptions } from '@session-service/contract'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

/** Holds what arrives while this process has no processor, seconds of a video. Linux limits it to `net.core.rmem_max`. */
const RECEIVE_BUFFER_BYTES = 4 * 1_048_576

export interface Endpoint {
  readonly address: string
  readonly port: number
}

/** Returns the UDP candidate with the highest priority; TCP is not supported. */
export function bestCandidate(candidates: TransportOptions['iceCandidates']): Endpoint {
  const [best] = candidates.filter(({ protocol }) => protocol === 'udp').toSorted((a, b) => b.priority - a.priority)
  if (!best) throw new Error(`no UDP candidate among the ${candidates.length} of the server`)
  return best
}

/** A connected UDP socket to a media node. */
export class UdpPath {
  /** The number of failed sends: the port is closed, or the system's buffer is full. */
  refused = 0
  #open = true
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  static async open(to: Endpoint, onPacket: (packet: Buffer) => void): Promise<UdpPath> {
    const socket = createSocket(isIPv6(to.address) ? 'udp6' : 'udp4')
    const path = new UdpPath(socket)
    socket.on('message', onPacket)
    // ICMP errors of a dead media node are only counted.
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
    return this.#open ? this.#socket.address().port : 0
  }

  /** Sends a packet, whose buffer must not change until {@link isFlushed}. */
  send(packet: Buffer): void {
    if (this.#open) this.#socket.send(packet)
  }

  /** Whether the system has accepted all packets. */
  get isFlushed(): boolean {
    return !this.#open || this.#socket.getSendQueueCount() === 0
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#socket.close()
  }
}
