import type { types } from 'mediasoup'

/**
 * Holds what arrives while a worker has no processor: the default holds 92 packets, and cameras send nothing twice. Linux
 * limits it to `net.core.rmem_max`.
 */
const RECEIVE_BUFFER_BYTES = 4 * 1_024 * 1_024

/** Where a worker receives packets. */
export const udpAt = (ip: string, port?: number): types.TransportListenInfo => ({
  protocol: 'udp',
  ip,
  ...(port !== undefined && { port }),
  recvBufferSize: RECEIVE_BUFFER_BYTES,
})

/** For packets of other workers and programs of this machine. */
export const LOOPBACK = udpAt('127.0.0.1')
