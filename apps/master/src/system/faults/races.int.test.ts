import { connect } from 'node:net'
import { countOf, EventSink, FaultRig, ServiceApi, until, webhookEnv } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'

jest.setTimeout(120_000)

/** ROUNDS=100 for a long run. */
const ROUNDS = Number(process.env.ROUNDS ?? 8)

let rig: FaultRig
let sink: EventSink
let masters: ServiceApi[]
beforeAll(async () => {
  sink = await EventSink.open()
  // No delivery may time out on a busy machine.
  const masterEnv = { ...webhookEnv(sink), SERVICE_WEBHOOK_PARALLEL: '8', SERVICE_WEBHOOK_TIMEOUT: '30000' }
  rig = await FaultRig.open({ masters: 2, nodes: 1, masterEnv })
  masters = rig.stack.masters.map((_, nth) => rig.stack.apiOf(nth))
})
afterAll(async () => {
  await rig.close()
  await sink.close()
})
beforeEach(() => {
  sink.behaviour = () => undefined
})

/** The master of the nth caller, in turn. */
const at = (n: number): ServiceApi => masters[n % masters.length] ?? rig.stack.api
const many = <T>(count: number, call: (api: ServiceApi, n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => call(at(n), n)))

const eventsOf = (sessionId: string): Record<string, number> => countOf(sink.names(sessionId))

/** Sends a request, and closes the connection at the first byte of the answer. */
function postWithoutAnswer(path: string, body: object): Promise<void> {
  const { hostname, port } = new URL(rig.stack.masterUrl)
  const text = JSON.stringify(body)
  const head = [
    `POST /service/api${path} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: ${rig.stack.authorization}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ]
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    socket.once('data', () => socket.destroy())
    socket.once('close', () => resolve()).once('error', reject)
    socket.write(`${head.join('\r\n')}\r\n\r\n${text}`)
  })
}

describe('concurrent requests', () => {
  it.each([
    ['one master', 1],
    ['two masters', 2],
  ])('50 of them create the same session through %s: one succeeds, with one event', (through, count) =>
    rig.run(`creations through ${through}`, async ({ figure }) => {
      const customSessionId = `same_${count}`
      const create = (api: ServiceApi): Promise<number> =>
        api.request('POST', '/sessions', { customSessionId }).then(({ status }) => status)
      const statuses = await many(50, (api) => create(count === 1 ? rig.stack.api : api))
      expect(countOf(statuses.map(String))).toEqual({ '200': 1, '409': 49 })
      await rig.stack.api.deleteSession(customSessionId)
      await sink.ended(customSessionId)
      expect(eventsOf(customSessionId)).toEqual({ sessionCreated: 1, sessionDestroyed: 1 })
      figure('answers', JSON.stringify(countOf(statuses.map(String))))
    }),
  )

  it('20 of them delete the same session through two masters: one succeeds, with one event', () =>
    rig.run('deletions', async ({ figure }) => {
      const { id } = await rig.stack.api.createSession()
      const client = await rig.stack.join(id)
      const statuses = await many(20, (api) => api.request('DELETE', `/sessions/${id}`).then(({ status }) => status))
      expect(countOf(statuses.map(String))).toEqual({ '204': 1, '404': 19 })
      await client.closed
      await sink.ended(id)
      expect(eventsOf(id)).toEqual({ participantJoined: 1, participantLeft: 1, sessionCreated: 1, sessionDestroyed: 1 })
      figure('answers', JSON.stringify(countOf(statuses.map(String))))
    }))

  it(`close a session and create it again, ${ROUNDS} times: no client joins the closed one`, () =>
    rig.run('close and create', async ({ figure }) => {
      const uses = new Set<number>()
      const statuses = new Set<number>()
      for (let round = 0; round < ROUNDS; round++) {
        await rig.stack.api.createSession({ customSessionId: 'again' })
        const former = await rig.stack.join('again')
        const deleted = at(0).request('DELETE', '/sessions/again')
        const created = await until('the session can be created', async () => {
          const answer = await at(1).request('POST', '/sessions', { customSessionId: 'again' })
          statuses.add(answer.status)
          return answer.status === 200 && (answer.body as { createdAt: number })
        })
        expect((await deleted).status).toBe(204)
        const joined = await rig.stack.join('again')
        await former.closed
        expect(joined.isOpen).toBe(true)
        const session = await rig.stack.api.getSession('again')
        expect([session.createdAt, session.connections.numberOfElements]).toEqual([created.createdAt, 1])
        uses.add(session.createdAt)
        await rig.stack.api.deleteSession('again')
        await joined.closed
      }
      expect(uses.size).toBe(ROUNDS)
      expect([...statuses].filter((status) => status !== 200 && status !== 409)).toEqual([])
      figure('uses of one id', uses.size)
    }))

  it(`join a session that is being closed, ${ROUNDS} times: the join succeeds or fails, and no row is left`, () =>
    rig.run('join and close', async ({ figure }) => {
      const outcomes: string[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const { id } = await rig.stack.api.createSession()
        const first = await rig.stack.join(id)
        const { token } = await rig.stack.api.createConnection(id)
        const late = await rig.stack.openSocket(token ?? '')
        const joining = late.join().then(
          () => 'in',
          (error: unknown) => (typeof error === 'object' && error && 'code' in error ? String(error.code) : 'cut off'),
        )
        expect((await at(1).request('DELETE', `/sessions/${id}`)).status).toBe(204)
        outcomes.push(await joining)
        await first.closed
        if (outcomes.at(-1) === 'in') await late.closed
        else late.terminate()
        const [{ count } = {}] = await rig.stack.postgres.query(
          'SELECT count(*) FROM connection WHERE session_id = $1',
          [id],
        )
        expect(Number(count)).toBe(0)
      }
      const known = ['in', 'UNAUTHENTICATED', 'NOT_FOUND', 'cut off']
      expect(outcomes.filter((outcome) => !known.includes(outcome))).toEqual([])
      figure('outcomes', JSON.stringify(countOf(outcomes)))
    }))

  it('of a webhook receiver see the state of its event at every master', () =>
    rig.run('receiver reads', async ({ figure }) => {
      const wrong: string[] = []
      const checks: Promise<void>[] = []
      sink.behaviour = ({ event, sessionId }, before) => {
        const wanted = event === 'sessionCreated' ? 200 : event === 'sessionDestroyed' ? 404 : undefined
        // A repeated delivery may be outdated; sessions of other cases are ignored.
        if (wanted === undefined || before > 0 || !String(sessionId).startsWith('checked_')) return undefined
        checks.push(
          ...masters.map(async (api) => {
            const { status } = await api.request('GET', `/sessions/${String(sessionId)}`)
            if (status !== wanted) wrong.push(`${event}: ${status}`)
          }),
        )
        return undefined
      }
      const ids = await many(
        ROUNDS * 5,
        async (api, n) => (await api.createSession({ customSessionId: `checked_${n}` })).id,
      )
      await until(
        'all events are delivered',
        () => ids.every((id) => sink.names(id).includes('sessionCreated')),
        60_000,
      )
      await Promise.all(checks)
      await many(ids.length, (api, n) => api.deleteSession(ids[n] ?? ''))
      await Promise.all(ids.map((id) => sink.ended(id)))
      await Promise.all(checks)
      expect(wrong).toEqual([])
      expect(checks).toHaveLength(ids.length * 4)
      figure('checks after an event', checks.length)
    }))

  it('that are repeated after a lost answer see the effect of the first one', () =>
    rig.run('repeated requests', async ({ figure }) => {
      const customSessionId = 'unanswered'
      await postWithoutAnswer('/sessions', { customSessionId })
      const again = await many(2, (api) => api.request('POST', '/sessions', { customSessionId }))
      expect(again.map(({ status }) => status)).toEqual([409, 409])
      await postWithoutAnswer(`/sessions/${customSessionId}/connection`, { data: 'first' })
      const { id, token } = await rig.stack.api.createConnection(customSessionId, { data: 'second' })
      const { body } = await rig.stack.rest('GET', `/sessions/${customSessionId}/connection?pendingConnections=true`)
      const { content } = body as { content: { id: string; serverData: string; status: string }[] }
      expect(content.map(({ serverData, status }) => [serverData, status])).toEqual([
        ['first', 'pending'],
        ['second', 'pending'],
      ])
      // The unused first connection does not disturb, and ends with the session.
      const client = await rig.stack.openSocket(token ?? '')
      expect((await client.join()).connectionId).toBe(id)
      await client.request('leave', {})
      await sink.ended(customSessionId)
      expect(eventsOf(customSessionId)).toEqual({
        participantJoined: 1,
        participantLeft: 1,
        sessionCreated: 1,
        sessionDestroyed: 1,
      })
      figure('connections', content.length)
    }))
})
