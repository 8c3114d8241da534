import { connect } from 'node:net'
import { countOf, EventSink, FaultRig, ServiceApi, until, webhookEnv } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'

jest.setTimeout(120_000)

/** More for a long run: ROUNDS=100. */
const ROUNDS = Number(process.env.ROUNDS ?? 8)

let rig: FaultRig
let sink: EventSink
let masters: ServiceApi[]
beforeAll(async () => {
  sink = await EventSink.open()
  // No attempt is to be given up because the machine is busy.
  const masterEnv = { ...webhookEnv(sink), SERVICE_WEBHOOK_PARALLEL: '8', SERVICE_WEBHOOK_TIMEOUT: '30000' }
  rig = await FaultRig.open({ masters: 2, nodes: 1, masterEnv })
  masters = rig.stack.masterUrls.map((url) => new ServiceApi(url, rig.stack.secret))
})
afterAll(async () => {
  await rig.close()
  await sink.close()
})
beforeEach(() => {
  sink.behaviour = () => undefined
})

/** The nth caller asks the nth master, in turn. */
const at = (n: number): ServiceApi => masters[n % masters.length] ?? rig.stack.api
const many = <T>(count: number, call: (api: ServiceApi, n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => call(at(n), n)))

const toldOf = (sessionId: string): Record<string, number> => countOf(sink.names(sessionId))

/** Sends it, and hangs up at the first byte of the answer. */
function postUnheard(path: string, body: object): Promise<void> {
  const { hostname, port } = new URL(rig.stack.masterUrl)
  const text = JSON.stringify(body)
  const head = [
    `POST /service/api${path} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: Basic ${Buffer.from(`SERVICEAPP:${rig.stack.secret}`).toString('base64')}`,
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

describe('at the same moment', () => {
  it.each([
    ['one master', 'G1', 1],
    ['two masters', 'G2', 2],
  ])('50 create the same session through %s: one has it, and one event tells of it', (_, id, count) =>
    rig.run(id, async ({ figure }) => {
      const customSessionId = `same_${count}`
      const create = (api: ServiceApi): Promise<number> =>
        api.request('POST', '/sessions', { customSessionId }).then(({ status }) => status)
      const statuses = await many(50, (api) => create(count === 1 ? rig.stack.api : api))
      expect(countOf(statuses.map(String))).toEqual({ '200': 1, '409': 49 })
      await rig.stack.api.deleteSession(customSessionId)
      await sink.ended(customSessionId)
      expect(toldOf(customSessionId)).toEqual({ sessionCreated: 1, sessionDestroyed: 1 })
      figure('answers', JSON.stringify(countOf(statuses.map(String))))
    }),
  )

  it('20 delete the same session through two masters: one has done it, and one event tells of it', () =>
    rig.run('G3', async ({ figure }) => {
      const { id } = await rig.stack.api.createSession()
      const client = await rig.stack.join(id)
      const statuses = await many(20, (api) => api.request('DELETE', `/sessions/${id}`).then(({ status }) => status))
      expect(countOf(statuses.map(String))).toEqual({ '204': 1, '404': 19 })
      await client.closed
      await sink.ended(id)
      expect(toldOf(id)).toEqual({ participantJoined: 1, participantLeft: 1, sessionCreated: 1, sessionDestroyed: 1 })
      figure('answers', JSON.stringify(countOf(statuses.map(String))))
    }))

  it(`a session is closed and created again, ${ROUNDS} times: nobody gets into the one that dies`, () =>
    rig.run('G4', async ({ figure }) => {
      const uses = new Set<number>()
      for (let round = 0; round < ROUNDS; round++) {
        await rig.stack.api.createSession({ customSessionId: 'again' })
        const former = await rig.stack.join('again')
        const deleted = at(0).request('DELETE', '/sessions/again')
        const created = await until('it can be created', async () => {
          const answer = await at(1).request('POST', '/sessions', { customSessionId: 'again' })
          expect([200, 409]).toContain(answer.status)
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
      figure('uses of one id', uses.size)
    }))

  it(`somebody joins a session that is being closed, ${ROUNDS} times: in or refused, and no ghost`, () =>
    rig.run('G6', async ({ figure }) => {
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

  it('whoever is told of an event sees its state at the other master', () =>
    rig.run('G11', async ({ figure }) => {
      const wrong: string[] = []
      const looks: Promise<void>[] = []
      sink.behaviour = ({ event, sessionId }, before) => {
        const wanted = event === 'sessionCreated' ? 200 : event === 'sessionDestroyed' ? 404 : undefined
        // What is told once more may be over by then; what other cases have left is not looked for.
        if (wanted === undefined || before > 0 || !String(sessionId).startsWith('told_')) return undefined
        looks.push(
          ...masters.map(async (api) => {
            const { status } = await api.request('GET', `/sessions/${String(sessionId)}`)
            if (status !== wanted) wrong.push(`${event}: ${status}`)
          }),
        )
        return undefined
      }
      const ids = await many(
        ROUNDS * 5,
        async (api, n) => (await api.createSession({ customSessionId: `told_${n}` })).id,
      )
      await until('all are told of', () => ids.every((id) => sink.names(id).includes('sessionCreated')), 60_000)
      await Promise.all(looks)
      await many(ids.length, (api, n) => api.deleteSession(ids[n] ?? ''))
      await Promise.all(ids.map((id) => sink.ended(id)))
      await Promise.all(looks)
      expect(wrong).toEqual([])
      expect(looks).toHaveLength(ids.length * 4)
      figure('looks after an event', looks.length)
    }))

  it('an answer is lost: the same request again finds what the first one did, and adds to it by the usual rules', () =>
    rig.run('G10', async ({ figure }) => {
      const customSessionId = 'unheard'
      await postUnheard('/sessions', { customSessionId })
      const again = await many(2, (api) => api.request('POST', '/sessions', { customSessionId }))
      expect(again.map(({ status }) => status)).toEqual([409, 409])
      await postUnheard(`/sessions/${customSessionId}/connection`, { data: 'first' })
      const { id, token } = await rig.stack.api.createConnection(customSessionId, { data: 'second' })
      const { body } = await rig.stack.rest('GET', `/sessions/${customSessionId}/connection?pendingConnections=true`)
      const { content } = body as { content: { id: string; serverData: string; status: string }[] }
      expect(content.map(({ serverData, status }) => [serverData, status])).toEqual([
        ['first', 'pending'],
        ['second', 'pending'],
      ])
      // Nobody has the token of the first: it stands in nobody's way, and goes with the session.
      const client = await rig.stack.openSocket(token ?? '')
      expect((await client.join()).connectionId).toBe(id)
      await client.request('leave', {})
      await sink.ended(customSessionId)
      expect(toldOf(customSessionId)).toEqual({
        participantJoined: 1,
        participantLeft: 1,
        sessionCreated: 1,
        sessionDestroyed: 1,
      })
      figure('connections', content.length)
    }))
})
