import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const SCRIPT = fileURLToPath(new URL('../../../../docs/examples/session.py', import.meta.url))

let stack: Stack
/** Cuts each connection; in the middle of an answer of the status that the path names. */
let cutting: Server

beforeAll(async () => {
  stack = await startStack()
  cutting = createServer(({ url = '', socket }, response) => {
    const status = Number(/^\/(\d{3})\//.exec(url)?.[1])
    if (!status) return socket.destroy()
    response.writeHead(status, { 'content-length': 9 })
    return response.write('half', () => socket.destroySoon())
  })
  await new Promise<void>((resolve) => cutting.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  await new Promise((resolve) => cutting.close(resolve))
  await stack.stop()
})

interface Outcome {
  code: number
  stdout: string
  stderr: string
}

function execute(env: Record<string, string>, ...args: string[]): Promise<Outcome> {
  const options = { env: { ...process.env, SERVICE_URL: stack.masterUrl, SERVICE_SECRET: stack.secret, ...env } }
  return new Promise((resolve, reject) => {
    execFile('python3', [SCRIPT, ...args], options, (error, stdout, stderr) => {
      const code = error?.code ?? 0
      if (typeof code === 'number') return resolve({ code, stdout, stderr })
      return reject(new Error('the test cannot run the example: is python3 installed?', { cause: error }))
    })
  })
}

/** The lines that the example prints. */
async function run(...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await execute({}, ...args)
  expect([code, stderr]).toEqual([0, ''])
  return stdout.trim().split('\n')
}

describe('the example in Python, which uses the standard library only', () => {
  it('creates, lists, signals to an empty session and closes it', async () => {
    expect(await run()).toEqual(['create 200', 'connection 200 token', 'list 200 True', 'signal 406', 'close 204'])
  })

  it('signals to the participants of an existing session', async () => {
    const { id } = await stack.api.createSession({ customSessionId: 'met-before' })
    const participant = await stack.join(id)
    expect(await run(id)).toEqual(['create 409', 'connection 200 token', 'list 200 True', 'signal 200', 'close 204'])
    await participant.close()
  })

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'a wrong secret',
      { SERVICE_SECRET: 'wrong' },
      /^The service rejects the credentials \(401\): check SERVICE_SECRET/,
    ],
    ['an empty secret', { SERVICE_SECRET: '' }, /^SERVICE_SECRET is not set$/],
    ['an address without a service', { SERVICE_URL: 'http://127.0.0.1:9' }, /^The service is not reachable at http:/],
  ])('reports %s in one line and fails', async (_, env, message) => {
    const { code, stdout, stderr } = await execute(env)
    expect([code, stdout, stderr.trim()]).toEqual([1, '', expect.stringMatching(message)])
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  it.each(['', '/200', '/503'])('reports a connection that is cut in one line and fails: %s', async (path) => {
    const { port } = cutting.address() as AddressInfo
    const { code, stdout, stderr } = await execute({ SERVICE_URL: `http://127.0.0.1:${port}${path}` })
    const message = /^The service does not answer POST \/sessions completely: try again later\. .+$/
    expect([code, stdout, stderr.trim()]).toEqual([1, '', expect.stringMatching(message)])
  })

  it.each(['a b', '../x?y', 'ü'])('reports the id %s in one line and fails', async (id) => {
    const { code, stdout, stderr } = await execute({}, id)
    const message = /^The service creates no session \(400\): .+$/
    expect([code, stdout, stderr.trim()]).toEqual([1, '', expect.stringMatching(message)])
  })
})
