import { createSocket } from 'node:dgram'

/**
 * Sends an RTCP BYE (RFC 3550 §6.6), upon which ffmpeg writes everything up to the last packet and exits. ffmpeg may
 * miss it while it reorders packets, and it is not sent when the system has no socket left.
 */
export function sendRtcpBye(ssrc: number, port: number): void {
  const packet = Buffer.from([0x80, 201, 0, 1, 0, 0, 0, 0, 0x81, 203, 0, 1, 0, 0, 0, 0])
  packet.writeUInt32BE(ssrc, 4)
  packet.writeUInt32BE(ssrc, 12)
  const socket = createSocket('udp4')
  socket.on('error', () => socket.close())
  socket.send(packet, port, '127.0.0.1', () => socket.close())
}
