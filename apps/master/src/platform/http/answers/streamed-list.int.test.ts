/** @quiet It measures response times under load. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { ConnectionListView, SessionListView } from '@session-service/contract'
import { budgetMs, calmMs, loopLagMs, quantile, startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'

const MANY = 20_000
/** Simultaneous lists, as the dashboards of a company's browsers request them. */
const READERS = 150
const LISTED = 5_000
/** The sessions that are created while lists are written. */
const CREATED = 80
/** Time within which a session is created while lists are written, ms. */
const CREATED_MS = 2_500
/** Recent, so that the garbage collection does not remove the sessions. */
const SINCE = Date.now()
let stack: Stack

beforeAll(async () => {
  stack = await startStack({ nodes: 0 })
})
afterAll(() => stack.stop())

const addSessions = (from: number, to: number) =>
  stack.postgres.query(
    `INSERT INTO session (id, unique_id, created_at, media_mode, recording_mode, has_custom_id, forced_video_codec,
                          allow_transcoding, recording_properties)
     SELECT 'room-' || n, 'room-' || n || '_' || n, $4::bigint + n, 'ROUTED', 'MANUAL', true, 'VP8', false, $3::jsonb
     FROM generate_series($1::int, $2::int) AS n`,
    [from, to, JSON.stringify(template), SINCE],
  )
const template = {
  name: '',
  hasAudio: true,
  hasVideo: true,
  outputMode: 'COMPOSED',
  recordingLayout: 'BEST_FIT',
  customLayout: '',
  resolution: '1280x720',
  frameRate: 25,
  shmSize: 536_870_912,
  ignoreFailedStreams: false,
}

/** Requests a list; nothing of the answer's body is read yet. */
async function open(path: string): Promise<IncomingMessage> {
  const sent = request(new URL(`/service/api${path}`, stack.masterUrl), { auth: `SERVICEAPP:${stack.secret}` })
  sent.end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return answer
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of answer.setEncoding('utf8')) text += String(piece)
  return text
}

/** Reads the answer, and returns its last piece. */
async function endOf(answer: IncomingMessage): Promise<string> {
  let [former, last] = ['', '']
  for await (const piece of answer.setEncoding('utf8')) [former, last] = [last, String(piece)]
  return former + last
}

it.each([0, 1, 199, 200, 201, 400])(
  'a list of %i sessions has each of them once, in order, and their number',
  async (count) => {
    await stack.postgres.query('DELETE FROM session')
    await addSessions(1, count)
    const list = await stack.api.listSessions()
    expect(list.numberOfElements).toBe(count)
    expect(list.content.map(({ createdAt }) => createdAt - SINCE)).toEqual(
      Array.from({ length: count }, (_, at) => at + 1),
    )
  },
)

it('a list is sent before the last row is read, and read no faster than the client takes it', async () => {
  await stack.postgres.query('DELETE FROM session')
  await addSessions(1, MANY)
  const answer = await open('/sessions')
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  // The answer has begun. If the rest had been read already, it would still contain the rows that are deleted now.
  await stack.postgres.query('DELETE FROM session WHERE created_at > $1', [SINCE + MANY - 10])
  await addSessions(MANY + 1, MANY + 5)
  const list = SessionListView.parse(JSON.parse(await textOf(answer)))
  expect(list.content.at(-1)?.id).toBe(`room-${MANY + 5}`)
  expect(list.numberOfElements).toBe(MANY - 5)
  expect(new Set(list.content.map(({ id }) => id)).size).toBe(MANY - 5)
})

it('a list that the client does not read holds no database connection', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => open('/sessions')))
  // More lists than the master has database connections: if each held one, this would not be answered.
  expect(await stack.api.createSession({ customSessionId: 'meanwhile' })).toMatchObject({ id: 'meanwhile' })
  for (const answer of answers) answer.destroy()
})

it(`sessions are created promptly while ${READERS} lists of ${LISTED} sessions are answered`, async () => {
  await stack.postgres.query('DELETE FROM session')
  await addSessions(1, LISTED)
  const state = { isReading: true }
  const reading = Promise.all(
    Array.from({ length: READERS }, async () => {
      while (state.isReading) {
        const answer = await open('/sessions')
        expect(answer.statusCode).toBe(200)
        const [, size] = /"numberOfElements":(\d+)}$/.exec(await endOf(answer)) ?? []
        expect(Number(size)).toBeGreaterThanOrEqual(LISTED)
      }
    }),
  )
  const created: number[] = []
  while (created.length <= CREATED) {
    const start = calmMs()
    await stack.api.createSession()
    created.push(calmMs() - start)
  }
  state.isReading = false
  await reading
  const [master] = stack.masters
  const lag = master ? await loopLagMs(master) : Number.NaN
  const p99 = quantile(created, 0.99)
  console.info(`${created.length} sessions created, p99 ${p99 | 0} ms, loop ${lag | 0} ms`)
  // A create takes a small part of the time of the lists on any machine.
  expect(p99).toBeLessThan(CREATED_MS)
  expect(lag).toBeLessThan(budgetMs(CREATED_MS))
}, 120_000)

it('the connections of a session are listed in pages as well', async () => {
  await stack.api.createSession({ customSessionId: 'full' })
  await Promise.all(Array.from({ length: 450 }, () => stack.api.createConnection('full')))
  const list = ConnectionListView.parse((await stack.rest('GET', '/sessions/full/connection')).body)
  expect(list.numberOfElements).toBe(450)
  expect(new Set(list.content.map(({ id }) => id)).size).toBe(450)
  const active = await stack.rest('GET', '/sessions/full/connection?pendingConnections=false')
  expect(active.body).toEqual({ numberOfElements: 0, content: [] })
})

it('a failure before the first byte of a list is answered with its status', async () => {
  expect((await stack.rest('GET', '/sessions/nowhere/connection')).status).toBe(404)
  await stack.postgres.query('ALTER TABLE session RENAME COLUMN media_mode TO elsewhere')
  const answer = await stack.rest('GET', '/sessions')
  await stack.postgres.query('ALTER TABLE session RENAME COLUMN elsewhere TO media_mode')
  expect(answer.status).toBe(500)
})
