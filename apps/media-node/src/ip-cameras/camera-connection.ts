import { connect, isIP, type LookupFunction } from 'node:net'
import type { CameraCause, CameraAddress } from './camera-program.js'

const PORTS: Readonly<Record<string, number>> = { 'rtsp:': 554, 'rtsps:': 322, 'http:': 80, 'https:': 443 }

/** Whether a camera that failed with this cause may not have taken a connection. */
export const isConnectionFailure = (cause: CameraCause): boolean => cause === 'unreachable' || cause === 'timeout'

/** Whether the camera takes a TCP connection at one of its checked addresses. True for a file. */
export function canConnect({
  uri,
  hosts,
  timeoutMs,
}: Pick<CameraAddress, 'uri' | 'hosts' | 'timeoutMs'>): Promise<boolean> {
  if (hosts.length === 0) return Promise.resolve(true)
  const { protocol, hostname, port } = new URL(uri)
  const addresses = hosts.map((address) => ({ address, family: isIP(address) }))
  const lookup: LookupFunction = (_host, _options, found) => found(null, addresses)
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (PORTS[protocol] ?? 0),
      lookup,
    })
    const settle = (isConnected: boolean): void => {
      socket.destroy()
      resolve(isConnected)
    }
    socket.setTimeout(timeoutMs, () => settle(false))
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}
