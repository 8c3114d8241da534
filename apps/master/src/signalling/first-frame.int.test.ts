import { once } from 'node:events'
import {
  CLOSE_CODE,
  RPC_CODE,
  RpcResponse,
  SIGNALLING_FIRST_FRAME_MAX_LENGTH,
  SIGNALLING_LIMITS,
  SIGNALLING_SUBPROTOCOLS,
} from '@session-service/contract'
import { startStack, type Stack, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'

const { plain, withFirstFrame, firstFramePrefix } = SIGNALLING_SUBPROTOCOLS

let stack: Stack
let sessionId: string
const sockets: WebSocket[] = []

beforeAll(async () => {
  stack = await startStack()
})
beforeEach(async () => {
  ;({ id: sessionId } = await stack.api.createSession())
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate()
})
afterAll(() => stack.stop())

const createToken = async (): Promise<string> => (await stack.api.createConnection(sessionId)).token ?? ''
const secretOf = (token: string): string => new URL(token).searchParams.get('token') ?? ''
const joinWith = (token: string, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'join',
  params: { token: secretOf(token), ...more },
})
const encoded = (text: string): string => firstFramePrefix + Buffer.from(text).toString('base64url')

/** Requests a socket that offers this frame; `answers` grow as they arrive. */
function request(url: string, frame: unknown) {
  const text = typeof frame === 'string' ? frame : JSON.stringify(frame)
  const socket = new WebSocket(url, [plain, withFirstFrame, encoded(text)])
  sockets.push(socket)
  const answers: RpcResponse[] = []
  socket.on('error', () => undefined)
  socket.on('message', (data: Buffer) => {
    const answer = RpcResponse.safeParse(JSON.parse(data.toString()))
    if (answer.success) answers.push(answer.data)
  })
  const answer = (nth = 0): Promise<RpcResponse> => until(`answer ${nth + 1}`, () => answers[nth])
  const closed = once(socket, 'close').then(([code]: unknown[]) => code)
  return { socket, answers, answer, closed }
}

describe('a request for a socket with the first frame', () => {
  it('joins with the token of the frame, and leaves the token of the address unused', async () => {
    const [inAddress, inFrame] = [await createToken(), await createToken()]
    const { socket, answer, answers } = request(inAddress, joinWith(inFrame, { clientData: 'Zoë' }))
    expect(await answer()).toMatchObject({ id: 1, result: { sessionId, version: expect.any(String) } })
    expect(socket.protocol).toBe(withFirstFrame)
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping', params: {} }))
    expect(await answer(1)).toEqual({ jsonrpc: '2.0', id: 2, result: {} })
    expect(answers).toHaveLength(2)
    const { content } = await stack.api.listConnections(sessionId)
    expect(content.map(({ status, clientData, token }) => [status, clientData, token]).toSorted()).toEqual([
      ['active', 'Zoë', inFrame],
      ['pending', null, inAddress],
    ])
  })

  it('is refused like a join on the open socket when the token is unknown, used, or of a deleted connection', async () => {
    const used = await createToken()
    await request(used, joinWith(used)).answer()
    const { id, token: deleted } = await stack.api.createConnection(sessionId)
    await stack.rest('DELETE', `/sessions/${sessionId}/connection/${id}`)
    const unknown = used.replace(/token=.*/, 'token=tok_unknown')
    for (const token of [used, deleted ?? '', unknown]) {
      const { answer, socket } = request(token, joinWith(token))
      expect(await answer()).toMatchObject({ id: 1, error: { code: RPC_CODE.UNAUTHENTICATED } })
      expect(socket.readyState).toBe(WebSocket.OPEN)
    }
  })

  it('lets only one of two sockets join that are requested at the same time with one token', async () => {
    const token = await createToken()
    const both = [request(token, joinWith(token)), request(token, joinWith(token))]
    const answers = await Promise.all(both.map(({ answer }) => answer()))
    expect(answers.filter((answer) => 'result' in answer)).toHaveLength(1)
    expect(answers.filter((answer) => 'error' in answer)).toMatchObject([{ error: { code: RPC_CODE.UNAUTHENTICATED } }])
  })

  it('joins once when the client also sends join on the open socket', async () => {
    const token = await createToken()
    const { socket, answer } = request(token, joinWith(token))
    await once(socket, 'open')
    socket.send(JSON.stringify({ ...joinWith(token), id: 2 }))
    expect(await answer()).toMatchObject({ id: 1, result: { sessionId } })
    expect(await answer(1)).toMatchObject({ id: 2, error: { code: RPC_CODE.CONFLICT } })
  })

  it('ends the participant when the client cuts the socket during the join', async () => {
    const token = await createToken()
    const { socket } = request(token, joinWith(token))
    await once(socket, 'open')
    socket.terminate()
    await until('the session has ended with its only participant', async () => {
      const { status } = await stack.rest('GET', `/sessions/${sessionId}`)
      return status === 404
    })
  })

  it('counts as a failed join, after which the socket is closed', async () => {
    const token = (await createToken()).replace(/token=.*/, 'token=tok_unknown')
    const { socket, closed } = request(token, joinWith(token))
    await once(socket, 'open')
    for (let n = 1; n < SIGNALLING_LIMITS.failedJoins; n++)
      socket.send(JSON.stringify({ ...joinWith(token), id: n + 1 }))
    expect(await closed).toBe(CLOSE_CODE.abuse)
  })

  it.each([
    ['no JSON', 'no JSON', -32700],
    ['no request', '{}', -32600],
    ['a call that needs a participant', '{"jsonrpc":"2.0","id":1,"method":"leave"}', RPC_CODE.NOT_ALLOWED],
  ])('with %s is answered like that frame, and the socket can join', async (_, frame, code) => {
    const token = await createToken()
    const { socket, answer } = request(token, frame)
    expect(await answer()).toMatchObject({ error: { code } })
    socket.send(JSON.stringify({ ...joinWith(token), id: 2 }))
    expect(await answer(1)).toMatchObject({ id: 2, result: { sessionId } })
  })

  it('that is too long leaves the frame to the client', async () => {
    const token = await createToken()
    const { socket, answers, answer } = request(
      token,
      joinWith(token, { clientData: 'x'.repeat(SIGNALLING_FIRST_FRAME_MAX_LENGTH) }),
    )
    await once(socket, 'open')
    expect(socket.protocol).toBe(plain)
    socket.send(JSON.stringify({ ...joinWith(token), id: 2 }))
    expect(await answer()).toMatchObject({ id: 2, result: { sessionId } })
    expect(answers).toHaveLength(1)
  })

  it('resumes a participant on another socket', async () => {
    const token = await createToken()
    const first = request(token, joinWith(token))
    const joined = await first.answer()
    if (!('result' in joined)) throw new Error('the join failed')
    const { connectionId, resumeKey } = joined.result as Record<string, unknown>
    const params = { connectionId, resumeKey, receivedSignals: [] }
    const { answer } = request(token, { jsonrpc: '2.0', id: 1, method: 'resume', params })
    expect(await answer()).toMatchObject({ result: { role: 'PUBLISHER' } })
    expect(await first.closed).toBe(CLOSE_CODE.replaced)
  })
})
