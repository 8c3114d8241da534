import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/**
 * A UDP port of the loopback that several programs send from, one after another: mediasoup accepts the packets
 * of one source only. Its socket allows theirs beside it and reads nothing that matters.
 */
export class ReservedPort {
  private constructor(private readonly socket: Socket) {}

  static async open(): Promise<ReservedPort> {
    const socket = createSocket({ type: 'udp4', reuseAddr: true })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    socket.unref()
    return new ReservedPort(socket)
  }

  get port(): number {
    return this.socket.address().port
  }

  close(): void {
    this.socket.close()
  }
}
