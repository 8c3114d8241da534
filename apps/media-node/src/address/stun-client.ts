import { createSocket, type Socket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { withTimeout } from '@session-service/server-kit'
import { bindingRequest, mappedAddress } from './stun-message.js'

/** Requests are repeated at these times: datagrams may be lost, ms. */
const SEND_AT_MS = [0, 500, 1_500]
const TIMEOUT_MS = 3_500
const STUN_PORT = 3478

interface StunQuery {
  /** `host`, `host:port` or `[address]:port`. */
  server: string
  /** The address from which the request is sent: an unspecified one leaves it to the system. */
  from: string
}

/** Asks a STUN server for the address that it sees. Rejects when it does not answer in time, or the name is unknown. */
export async function askStunServer({ server, from }: StunQuery): Promise<string> {
  const { host, port } = endpointOf(server)
  const isSix = isIP(from) === 6
  const socket = createSocket(isSix ? 'udp6' : 'udp4')
  try {
    return await withTimeout(
      async () => {
        const { address } = await lookup(host, { family: isSix ? 6 : 4 })
        await bindAndConnect(socket, from, { address, port })
        return await exchange(socket)
      },
      TIMEOUT_MS,
      `the answer of the STUN server ${server}`,
    )
  } finally {
    // After a timeout, the next steps reject on the closed socket.
    socket.close()
  }
}

function endpointOf(server: string): { host: string; port: number } {
  const { hostname, port } = new URL(`stun://${server}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? STUN_PORT : Number(port) }
}

/** A connected socket receives datagrams of the server alone. */
function bindAndConnect(socket: Socket, from: string, to: { address: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ address: from, port: 0 }, () => {
      socket.connect(to.port, to.address)
      socket.once('connect', resolve)
    })
  })
}

function exchange(socket: Socket): Promise<string> {
  const request = bindingRequest()
  const answer = Promise.withResolvers<string>()
  socket.on('message', (message) => {
    const address = mappedAddress(message, request)
    if (address !== undefined) answer.resolve(address)
  })
  // A closed port of the server is reported here; a later datagram may still be answered.
  socket.on('error', () => undefined)
  const timers = SEND_AT_MS.map((at) => setTimeout(() => socket.send(request, () => undefined), at))
  socket.once('close', () => timers.forEach((timer) => clearTimeout(timer)))
  return answer.promise
}
