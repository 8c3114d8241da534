import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebSocket, WebSocketServer } from 'ws'
import { ClientSocket } from './client-socket.js'
import { SharedNotification } from './shared-notification.js'

let server: WebSocketServer
beforeAll(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
})
afterAll(() => {
  for (const socket of server.clients) socket.terminate()
  server.close()
})

async function pair(): Promise<{ socket: ClientSocket; client: WebSocket; received: () => Promise<unknown[]> }> {
  const accepted = once(server, 'connection')
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const frames: unknown[] = []
  client.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString())))
  const [webSocket] = (await accepted) as [WebSocket]
  const socket = new ClientSocket(webSocket, '127.0.0.1', '', 0)
  const received = async (): Promise<unknown[]> => {
    socket.close(1000, '')
    await once(client, 'close')
    return frames
  }
  return { socket, client, received }
}

const signal = (id: number) => ({ id, params: { type: 'signal', data: `${id}` } })
const shared = (id: number): SharedNotification =>
  new SharedNotification({ method: 'signal', params: signal(id).params }, id)
const frame = (id: number) => ({ jsonrpc: '2.0', method: 'signal', params: signal(id).params, signalId: id })

describe('ClientSocket', () => {
  it('sends missed signals after the answer and before newer ones, and none of them a second time', async () => {
    const { socket, received } = await pair()
    socket.hold()
    socket.deliver(shared(6))
    socket.deliver(shared(7))
    socket.replayAfterAnswer({ signals: [signal(5), signal(6)], after: 4 })
    socket.answer(1, {})
    socket.releaseAfter({ connections: [], streams: [], mediaEpoch: 1 })
    socket.deliver(shared(5))
    socket.deliver(shared(8))
    expect(socket.lastSignalId).toBe(8)
    expect(await received()).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }, frame(5), frame(6), frame(7), frame(8)])
  })

  it.each([
    ['{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', 7, 'params: '],
    ['{"jsonrpc":"2.0","id":"a"}', 'a', 'method: '],
    [`{"jsonrpc":"2.0","id":"${'x'.repeat(65)}","method":"ping"}`, null, 'id: '],
    ['{"method":"ping"}', null, 'jsonrpc: '],
    ['[]', null, 'object'],
  ])('answers the invalid request %s with the id %j, and names what is invalid', async (text, id, named) => {
    const { socket, received } = await pair()
    expect(socket.read(Buffer.from(text), false)).toBeUndefined()
    const error = { code: -32600, message: expect.stringContaining(named) }
    expect(await received()).toEqual([{ jsonrpc: '2.0', id, error }])
  })

  it('terminates a socket whose client does not read, and keeps that its frames are lost', async () => {
    const { socket, client } = await pair()
    client.pause()
    const large = JSON.stringify('x'.repeat(1024 * 1024))
    while (socket.isOpen) socket.write(large)
    expect(socket.wasTerminated).toBe(true)
    await socket.ended
    expect(socket.closeCode).toBe(1006)
  })

  it('drops missed signals when resuming fails', async () => {
    const { socket, received } = await pair()
    socket.hold()
    socket.replayAfterAnswer({ signals: [signal(5)], after: 4 })
    socket.forgetHeld()
    socket.deliver(shared(9))
    expect(await received()).toEqual([frame(9)])
  })
})
