import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { WebSocket } from 'ws'
import { AttachedSockets } from '../fixtures/attached-sockets.js'

let sockets: AttachedSockets
beforeEach(async () => {
  sockets = await AttachedSockets.start()
})
afterEach(() => sockets.stop())

/** Sockets of three participants of one room, and the listener of the room's messages. */
async function room() {
  const received: Record<string, string[]> = {}
  const sent: Record<string, WebSocket> = {}
  for (const connectionId of ['con_a', 'con_b', 'con_c']) {
    const { server, frames } = await sockets.attach(connectionId)
    received[connectionId] = frames
    sent[connectionId] = server
  }
  const end = async (): Promise<void> => {
    const closed = Object.values(sent).map((socket) => once(socket, 'close'))
    for (const each of sockets.registry.all()) each.close(1000, '')
    await Promise.all(closed)
  }
  return { send: sockets.send, received, sent, end }
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

  it('delivers a notification to the other sockets when sending to one of them throws, and the later ones too', async () => {
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
