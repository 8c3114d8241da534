import { connect, type Socket } from 'node:net'
import { SIGNALLING_PATH } from '@session-service/contract'
import { startStack, type Stack, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack
const open: Socket[] = []
beforeAll(async () => {
  stack = await startStack({ nodes: 0 })
})
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy()
})
afterAll(() => stack.stop())

const UPGRADE = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: eA==']

/** Sends a raw request; the client never closes its side. */
function ask(start: string, headers: readonly string[], body = ''): { socket: Socket; answer: () => string } {
  const { hostname, port } = new URL(stack.masterUrl)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  open.push(socket)
  let answer = ''
  socket.setEncoding('latin1').on('data', (data: string) => (answer += data))
  socket.on('error', () => undefined)
  socket.write(`${[`${start} HTTP/1.1`, 'Host: x', ...headers].join('\r\n')}\r\n\r\n${body}`)
  return { socket, answer: () => answer }
}

const isServing = async (): Promise<boolean> => (await stack.rest('GET', '/sessions')).status === 200

describe('an upgrade', () => {
  it.each([
    ['GET //', 400],
    ['GET /nowhere', 404],
    [`GET ${SIGNALLING_PATH}`, 401],
  ])('of %s is refused with %d, and the server closes the connection', async (start, status) => {
    const { socket, answer } = ask(start, UPGRADE)
    let isClosed = false
    socket.on('close', () => (isClosed = true)).on('end', () => (isClosed = true))
    await until('it is answered and closed', () => isClosed)
    expect(answer()).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    // A write shows that the other end has closed.
    await until('the server has closed the connection', () => socket.destroyed || (socket.write('x'), false))
    expect(await isServing()).toBe(true)
  })

  it('does not harm the server when the client resets the connection before the refusal', async () => {
    for (let n = 0; n < 50; n++) {
      const { socket } = ask('GET /nowhere', UPGRADE)
      await new Promise((resolve) => socket.once('connect', resolve))
      socket.resetAndDestroy()
    }
    expect(await isServing()).toBe(true)
    expect(stack.masters.map(({ running }) => running)).toEqual([true])
  })

  it.each(['h2c', 'TLS/1.0, HTTP/2.0'])(
    'to the unsupported protocol %s is served as an ordinary request',
    async (to) => {
      const length = 'Content-Length: 2'
      const headers = ['Connection: Upgrade, close', `Upgrade: ${to}`, 'Content-Type: application/json', length]
      const authorization = `Authorization: ${stack.authorization}`
      const { answer } = ask('POST /service/api/sessions', [...headers, authorization], '{}')
      await until('it is answered', () => answer().includes('"object":"session"'))
      expect(answer()).toMatch(/^HTTP\/1\.1 200 /)
    },
  )
})
