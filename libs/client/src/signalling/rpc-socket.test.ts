import { ServiceError } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { type Clock, systemClock } from '../platform/clock.js'
import { ManualClock, until } from '../fixtures/manual-clock.js'
import { connectionInfo, joinResult } from '../fixtures/samples.js'
import { FakeSignallingServer } from '../fixtures/fake-signalling-server.js'
import type { ServerNotification } from './notification.js'
import { RpcSocket, SocketLost } from './rpc-socket.js'

const ping = { method: 'ping', params: {}, openMs: 5_000, answerMs: 5_000 } as const

/** Opens a socket whose first request is answered. */
async function open(url: string, clock: Clock): Promise<RpcSocket> {
  const { socket, answer } = await RpcSocket.open(url, clock, ping)
  await answer
  return socket
}

describe('RpcSocket', () => {
  let server: FakeSignallingServer
  let socket: RpcSocket

  beforeEach(async () => {
    server = await FakeSignallingServer.start()
    socket = await open(server.url, systemClock)
    await until('the server has the socket', () => server.sockets.length === 1)
  })
  afterEach(async () => {
    jest.restoreAllMocks()
    socket.close()
    await server.stop()
  })

  it('matches answers to requests in any order', async () => {
    const slow = socket.request('unpublish', { streamId: 'str_a' }, 5_000)
    server.answer('restartIce', () => ({ result: { iceParameters: { usernameFragment: 'u', password: 'p' } } }))
    await expect(socket.request('restartIce', { direction: 'send' }, 5_000)).resolves.toEqual({
      iceParameters: { usernameFragment: 'u', password: 'p' },
    })
    const [first] = await until('unpublish', () => server.calls('unpublish').length > 0 && server.calls('unpublish'))
    server.send({ jsonrpc: '2.0', id: first?.id, result: {} })
    await expect(slow).resolves.toEqual({})
  })

  it('rejects with the error of the server and its code', async () => {
    server.answer('subscribe', () => ({ error: new ServiceError('NOT_FOUND', 'no stream with the id str_a') }))
    const call = socket.request('unpublish', { streamId: 'str_a' }, 5_000)
    server.answer('unpublish', () => ({ error: new ServiceError('NOT_ALLOWED', 'a SUBSCRIBER may not') }))
    await expect(call).rejects.toMatchObject({ code: 'NOT_ALLOWED', message: 'a SUBSCRIBER may not' })
  })

  it('rejects a malformed answer', async () => {
    server.answer('restartIce', () => ({ result: { iceParameters: { usernameFragment: 1 } } }))
    await expect(socket.request('restartIce', { direction: 'send' }, 5_000)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringMatching(/answer to restartIce is malformed: iceParameters\.usernameFragment/),
    })
  })

  it('dispatches notifications in order, starting with those received before listen was called', async () => {
    const notified: string[] = []
    server.notify('connectionCreated', connectionInfo('con_1'))
    server.answer('leave', () => ({ result: {} }))
    await socket.request('leave', {}, 5_000)
    const lost: number[] = []
    const listener = ({ params }: ServerNotification): unknown =>
      notified.push('connectionId' in params ? params.connectionId : '')
    socket.listen(listener, (code) => lost.push(code))
    server.notify('connectionCreated', connectionInfo('con_2'))
    await until('both', () => notified.length === 2)
    expect(notified).toEqual(['con_1', 'con_2'])
  })

  it('ignores malformed frames and continues', async () => {
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => {})
    const notified: ServerNotification[] = []
    socket.listen(
      (notification) => notified.push(notification),
      () => {},
    )
    server.send('no JSON')
    server.send('[1]')
    server.send('null')
    server.send({ jsonrpc: '2.0', id: 4711, result: {} })
    server.send({ jsonrpc: '2.0', method: 'ofNextYear', params: {} })
    server.notify('connectionCreated', { connectionId: 5 })
    server.notify('signal', { type: 'signal', data: 'x' })
    await until('the signal', () => notified.length === 1)
    expect(notified[0]).toEqual({ method: 'signal', params: { type: 'signal', data: 'x' } })
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn.mock.calls[0]?.[0]).toMatch(/ignored an invalid "connectionCreated" notification: connectionId/)
  })

  it('rejects pending requests when the socket closes, and reports the loss once', async () => {
    const codes: number[] = []
    socket.listen(
      () => {},
      (code) => codes.push(code),
    )
    const call = socket.request('unpublish', { streamId: 'str_a' }, 5_000)
    await until('unpublish', () => server.calls('unpublish').length > 0)
    server.last.close(1001)
    await expect(call).rejects.toEqual(expect.objectContaining({ code: 1001 }))
    await expect(call).rejects.toBeInstanceOf(SocketLost)
    await expect(socket.request('ping', {}, 5_000)).rejects.toBeInstanceOf(SocketLost)
    expect(codes).toEqual([1001])
  })

  it('does not report a loss after close', async () => {
    const codes: number[] = []
    socket.listen(
      () => {},
      (code) => codes.push(code),
    )
    const call = socket.request('unpublish', { streamId: 'str_a' }, 5_000)
    const closed = new Promise((resolve) => server.last.once('close', resolve))
    socket.close()
    await expect(call).rejects.toBeInstanceOf(SocketLost)
    await closed
    expect(codes).toEqual([])
  })
})

describe('RpcSocket without an answer', () => {
  it('rejects with TIMEOUT and ignores a late answer', async () => {
    const [server, clock] = [await FakeSignallingServer.start(), new ManualClock()]
    const socket = await open(server.url, clock)
    const call = socket.request('unpublish', { streamId: 'str_a' }, 4_000)
    await until('unpublish', () => server.calls('unpublish').length > 0)
    clock.pass(4_000)
    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT', message: 'unpublish: no answer after 4000 ms' })
    expect(clock.pending).toBe(0)
    socket.close()
    await server.stop()
  })

  it('rejects with UNAVAILABLE and names the host when no server listens', async () => {
    const server = await FakeSignallingServer.start()
    const { url } = server
    await server.stop()
    await expect(RpcSocket.open(url, systemClock, ping)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(new URL(url).host),
    })
  })
})

describe('the first request of an RpcSocket', () => {
  let server: FakeSignallingServer

  beforeEach(async () => {
    server = await FakeSignallingServer.start()
  })
  afterEach(() => server.stop())

  const join = (clientData: string) =>
    RpcSocket.open(server.url, systemClock, { ...ping, method: 'join', params: { token: 'tok_1', clientData } })
  const received = () => server.calls('join').map(({ isFirstFrame, params }) => [isFirstFrame, params['clientData']])

  it('is part of the request for the socket, and its answer may arrive with the socket', async () => {
    server.answer('join', () => ({ result: joinResult() }))
    const { socket, answer } = await join('Zoë 🐚 ~?>')
    await expect(answer).resolves.toMatchObject({ connectionId: 'con_own' })
    await expect(socket.request('ping', {}, 5_000)).resolves.toEqual({})
    expect(received()).toEqual([[true, 'Zoë 🐚 ~?>']])
    socket.close()
  })

  it('is sent on the open socket when the server does not read it in the request for the socket', async () => {
    server.readsFirstFrames = false
    server.answer('join', () => ({ result: joinResult() }))
    const { socket, answer } = await join('me')
    await expect(answer).resolves.toMatchObject({ connectionId: 'con_own' })
    expect(received()).toEqual([[false, 'me']])
    socket.close()
  })

  it('is sent on the open socket when it is too long for the header of a request', async () => {
    server.answer('join', () => ({ result: joinResult() }))
    const { socket, answer } = await join('x'.repeat(4_000))
    await expect(answer).resolves.toMatchObject({ connectionId: 'con_own' })
    expect(received()).toEqual([[false, 'x'.repeat(4_000)]])
    socket.close()
  })

  it('rejects with the error of the server, and with SocketLost when the socket closes before the answer', async () => {
    server.answer('join', () => ({ error: new ServiceError('UNAUTHENTICATED', 'the token is used') }))
    const refused = await join('me')
    await expect(refused.answer).rejects.toMatchObject({ code: 'UNAUTHENTICATED', message: 'the token is used' })
    refused.socket.close()
    server.answer('join', () => (server.last.terminate(), 'silence'))
    await expect(join('me').then(({ answer }) => answer)).rejects.toMatchObject({
      name: expect.stringMatching(/^SocketLost$/),
    })
  })
})
