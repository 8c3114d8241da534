import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { SessionMessage } from '@session-service/contract'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebSocket, WebSocketServer } from 'ws'
import { ClientSocket } from './client-socket.js'
import { SocketRegistry } from './socket-registry.js'
import type { SessionBroadcast } from '../../platform/bus/session-broadcast.js'

let server: WebSocketServer
beforeAll(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
})
afterAll(() => {
  for (const socket of server.clients) socket.terminate()
  server.close()
})

/** Sockets of three participants of one room, and the listener of the room's messages. */
async function room() {
  let send: (message: SessionMessage) => void = () => undefined
  // In place of the bus: messages are passed to the listener directly.
  const broadcast = { listen: (_: string, onMessage: typeof send) => ((send = onMessage), Promise.resolve(() => {})) }
  const sockets = new SocketRegistry(broadcast as unknown as SessionBroadcast)
  const received: Record<string, string[]> = {}
  const sent: Record<string, WebSocket> = {}
  for (const connectionId of ['con_a', 'con_b', 'con_c']) {
    const accepted = once(server, 'connection')
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const frames: string[] = (received[connectionId] = [])
    client.on('message', (data: Buffer) => frames.push(data.toString()))
    const [socket] = (await accepted) as [WebSocket]
    sent[connectionId] = socket
    await sockets.attach('room', connectionId, new ClientSocket(socket, '127.0.0.1', '', 0))
    await once(client, 'open')
  }
  const end = async (): Promise<void> => {
    const closed = [...server.clients].map((socket) => once(socket, 'close'))
    for (const each of sockets.all()) each.close(1000, '')
    await Promise.all(closed)
  }
  return { send, received, sent, end }
}

describe('SocketRegistry', () => {
  it('serializes a notification once for all sockets', async () => {
    const { send, received, end } = await room()
    let reads = 0
    const params = {
      type: 'signal',
      get data() {
        reads++
        return 'x'
      },
    }
    send({ kind: 'notify', notification: { method: 'signal', params } })
    await end()
    const frame = '{"jsonrpc":"2.0","method":"signal","params":{"type":"signal","data":"x"}}'
    expect(received).toEqual({ con_a: [frame], con_b: [frame], con_c: [frame] })
    expect(reads).toBe(1)
  })

  it('sends a notification once to each recipient, also when its id occurs twice', async () => {
    const { send, received, end } = await room()
    const notification = { method: 'signal', params: { type: 'signal', data: 'x' } } as const
    send({ kind: 'notify', notification, to: ['con_b', 'con_b', 'con_c', 'con_gone'], except: ['con_c'] })
    await end()
    expect(Object.values(received).map((frames) => frames.length)).toEqual([0, 1, 0])
  })

  it('A20: delivers a notification to the other sockets when sending to one of them throws, and the later ones too', async () => {
    const { send, received, sent, end } = await room()
    const broken = sent.con_a
    if (!broken) throw new Error('con_a has a socket')
    broken.send = () => {
      throw new Error('this socket is broken')
    }
    for (const data of ['x', 'y'])
      send({ kind: 'notify', notification: { method: 'signal', params: { type: 'signal', data } } })
    expect(broken.readyState).toBe(broken.CLOSING)
    await end()
    expect(Object.values(received).map((frames) => frames.length)).toEqual([0, 2, 2])
  })
})
