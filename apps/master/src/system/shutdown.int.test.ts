import { once } from 'node:events'
import { request, Agent } from 'node:http'
import { connect } from 'node:net'
import { startStack, type Stack, until } from '@session-service/testing'
import { afterEach, describe, expect, it } from '@jest/globals'
import { SILENT_TRACK, FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'

let stack: Stack
afterEach(() => stack.stop())

/** The status of a completely answered request, and whether the answer has `Connection: close`. */
interface Outcome {
  status: number | 'cut'
  isLast: boolean
}
const CUT: Outcome = { status: 'cut', isLast: true }

const ask = (agent: Agent): Promise<Outcome> =>
  new Promise((resolve) => {
    const authorization = stack.authorization
    const sent = request(`${stack.masterUrl}/service/api/sessions`, {
      agent,
      method: 'POST',
      headers: { authorization },
    })
    sent.on('response', (answer) => {
      const { statusCode = 0, headers } = answer
      answer.on('end', () =>
        resolve(answer.complete ? { status: statusCode, isLast: headers.connection === 'close' } : CUT),
      )
      answer.on('error', () => resolve(CUT))
      answer.resume()
    })
    sent.on('error', () => resolve(CUT))
    sent.end()
  })

describe('SIGTERM', () => {
  it('interrupts no request: each is answered completely, with Connection: close', async () => {
    stack = await startStack({ nodes: 0, masterEnv: { SERVICE_SHUTDOWN_DELAY: '2' } })
    const [master] = stack.masters
    const outcomes: Outcome[] = []
    const agent = new Agent({ keepAlive: true, maxSockets: 8 })
    const lanes = Array.from({ length: 8 }, async () => {
      for (;;) {
        const outcome = await ask(agent)
        outcomes.push(outcome)
        // Like a load balancer and its clients.
        if (outcome.isLast) return
      }
    })
    await until('requests are answered', () => outcomes.length > 100)
    const ended = master?.stop()
    await Promise.all(lanes)
    await ended
    agent.destroy()
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200]))
    expect(outcomes.filter(({ isLast }) => isLast)).toHaveLength(8)
    const [{ count } = {}] = await stack.postgres.query('SELECT count(*) FROM session')
    expect(Number(count)).toBe(outcomes.length)
  }, 60_000)

  it('sends clients to another master before it waits for slow work', async () => {
    stack = await startStack({ nodes: 0, masterEnv: { SERVICE_RECORDING: 'true' } })
    const node = await FakeMediaNode.start(stack.nats.url, 'slow')
    const { id } = await stack.api.createSession()
    const client = await stack.join(id)
    await client.request('publish', { tracks: [SILENT_TRACK] })
    expect((await stack.rest('POST', '/recordings/start', { session: id })).status).toBe(200)
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    const { promise: asked, resolve: note } = Promise.withResolvers<void>()
    node.onStart = () => (note(), answered)
    const [part = 0] = node.jobs.keys()
    await node.failRecorder(part)
    await asked
    const [master] = stack.masters
    master?.kill('SIGTERM')
    expect(await client.waitFor('reconnect', undefined, 5_000)).toMatchObject({ afterMs: expect.any(Number) })
    const rows = await stack.postgres.query('SELECT status FROM connection WHERE session_id = $1', [id])
    expect([master?.running, rows]).toEqual([true, [{ status: 'active' }]])
    answer()
    expect(await master?.exited).toBe(0)
    await node.stop()
  }, 60_000)

  it('makes the master unready for the configured delay, during which it answers', async () => {
    stack = await startStack({ nodes: 0, masterEnv: { SERVICE_SHUTDOWN_DELAY: '3' } })
    const [master] = stack.masters
    const isReady = async (): Promise<boolean> => (await fetch(`${master?.opsUrl}/readyz`)).status === 200
    expect(await isReady()).toBe(true)
    const ended = master?.stop()
    await until('the master is not ready', async () => !(await isReady()))
    const answer = await stack.rest('POST', '/sessions', {})
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close'])
    await ended
  }, 60_000)

  it('logs its steps: the delay, the closed client sockets, and the end', async () => {
    stack = await startStack({ nodes: 1, masterEnv: { SERVICE_SHUTDOWN_DELAY: '1' } })
    const { id } = await stack.api.createSession()
    await Promise.all([stack.join(id), stack.join(id)])
    const [master] = stack.masters
    await master?.stop()
    const steps = stack.journal.lines.flatMap(
      (line) => /"msg":"the master ((shuts|has closed|has shut)[^"]+)/.exec(line)?.[1] ?? [],
    )
    expect(steps).toEqual([
      'shuts down: it is not ready, and closes its client sockets after 1000 ms',
      'has closed its client sockets, and ends what is in progress',
      'has shut down',
    ])
    expect(stack.journal.find('has closed its client sockets')).toEqual([expect.stringContaining('"closed":2')])
  }, 60_000)

  it('does not wait for connections without a request, as load balancers open them', async () => {
    stack = await startStack({ nodes: 0 })
    const [master] = stack.masters
    const { hostname, port } = new URL(stack.masterUrl)
    const unused = connect(Number(port), hostname)
    await once(unused, 'connect')
    await master?.stop()
    expect(await master?.exited).toBe(0)
    unused.destroy()
  }, 60_000)
})
