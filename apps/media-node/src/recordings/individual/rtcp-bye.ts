import { createSocket } from 'node:dgram'

/**
 * As if a source had left, by RTCP (RFC 3550 §6.6): who receives it writes what it has to its last packet. It may go
 * unheard while packets are being put in order, and unsent where the system gives no socket.
 */
export function sendRtcpBye(ssrc: number, port: number): void {
  const packet = Buffer.from([0x80, 201, 0, 1, 0, 0, 0, 0, 0x81, 203, 0, 1, 0, 0, 0, 0])
  packet.writeUInt32BE(ssrc, 4)
  packet.writeUInt32BE(ssrc, 12)
  const socket = createSocket('udp4')
  socket.on('error', () => socket.close())
  socket.send(packet, port, '127.0.0.1', () => socket.close())
}
