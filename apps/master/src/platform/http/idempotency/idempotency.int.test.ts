import {
  type RestAnswer,
  RestClient,
  ServiceApi,
  type Stack,
  startStack,
  TcpProxy,
  until,
} from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { MasterConfig } from '../../config/configuration.module.js'
import { createDataSource } from '../../database/data-source.js'
import { IdempotentCalls } from './idempotent-calls.service.js'

jest.setTimeout(60_000)

const ONE = 'a-secret-of-one-tenant'
const OTHER = 'a-secret-of-another-tenant'
const FORMER = 'a-former-secret-of-the-service'

let stack: Stack
let apis: ServiceApi[]
beforeAll(async () => {
  const tenants = [
    { name: 'one', secret: ONE, role: 'session-prefix', prefix: 'one_' },
    { name: 'other', secret: OTHER, role: 'session-prefix', prefix: 'other_' },
  ]
  stack = await startStack({
    masters: 2,
    masterEnv: { SERVICE_API_SECRETS: JSON.stringify(tenants), SERVICE_SECRET_PREVIOUS: FORMER },
  })
  apis = stack.masters.map((_, nth) => stack.apiOf(nth))
})
afterAll(() => stack.stop())

let nth = 0
let key: string
beforeEach(() => {
  key = `key-${nth++}`
})

const at = (master: number): ServiceApi => apis[master % apis.length] ?? stack.api
const post = (path: string, body: object, idempotencyKey = key, master = 0): Promise<RestAnswer> =>
  at(master).transport.send({ method: 'POST', path: `/service/api${path}`, body, idempotencyKey })
const replayed = ({ headers }: RestAnswer): boolean => headers.get('idempotent-replayed') === 'true'
const sessionIds = async (): Promise<string[]> => (await stack.api.listSessions()).content.map(({ id }) => id)
const storedCalls = async (): Promise<string> =>
  JSON.stringify(await stack.postgres.query('SELECT * FROM idempotent_call'))

describe('a POST with an Idempotency-Key', () => {
  it('gets the stored answer at the second time, from any master, and has no further effect', async () => {
    const first = await post('/sessions', {})
    const before = await sessionIds()
    const again = await post('/sessions', {}, key, 1)
    expect([first.status, replayed(first), again.status, replayed(again)]).toEqual([200, false, 200, true])
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(await sessionIds()).toEqual(before)
  })

  it('gets the same token again, which the database does not contain in plain text', async () => {
    const { id } = await stack.api.createSession()
    const first = (await post(`/sessions/${id}/connection`, { data: 'x' })).body as { token: string }
    expect((await post(`/sessions/${id}/connection`, { data: 'x' }, key, 1)).body).toEqual(first)
    const [, secret = ''] = /token=([^&]+)/.exec(first.token) ?? []
    expect(secret).not.toBe('')
    for (const hidden of [secret, key, id]) expect(await storedCalls()).not.toContain(hidden)
  })

  it('can have an answer without body, and reaches clients once', async () => {
    const { id } = await stack.api.createSession()
    const client = await stack.join(id)
    const answers = [await post('/signal', { session: id }), await post('/signal', { session: id })]
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, undefined],
      [200, undefined],
    ])
    expect(answers.map(replayed)).toEqual([false, true])
    await post('/signal', { session: id, type: 'last' }, `${key}-last`)
    await until('the last signal', () => client.received('signal').length >= 2)
    expect(client.received('signal')).toMatchObject([{ type: 'signal' }, { type: 'signal:last' }])
  })

  it.each<[string, string, object]>([
    ['body', '/sessions', { mediaMode: 'RELAYED' }],
    ['path', '/signal', {}],
  ])('is rejected with 422 when its %s differs', async (_, path, body) => {
    await post('/sessions', {})
    const other = await post(path, body, key, 1)
    expect([other.status, replayed(other)]).toEqual([422, false])
  })

  it('is another one for each credential, and the same for both secrets of the service', async () => {
    const create = (secret: string, customSessionId: string): Promise<RestAnswer> =>
      new ServiceApi(stack.masterUrl, secret).transport.send({
        method: 'POST',
        path: '/service/api/sessions',
        body: { customSessionId },
        idempotencyKey: key,
      })
    const answers: [status: number, isReplayed: boolean][] = []
    for (const [secret, id] of [
      [ONE, 'one_a'],
      [OTHER, 'other_a'],
      [FORMER, 'main_a'],
      [ONE, 'one_a'],
      [ONE, 'one_b'],
      [stack.secret, 'main_a'],
    ] as const) {
      const answer = await create(secret, id)
      answers.push([answer.status, replayed(answer)])
    }
    expect(answers).toEqual([
      [200, false],
      [200, false],
      [200, false],
      [200, true],
      [422, false],
      [200, true],
    ])
  })

  it('is carried out once when it is sent many times at once; the others get 409 with Retry-After', async () => {
    const before = (await sessionIds()).length
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => post('/sessions', {}, key, n)))
    expect(await sessionIds()).toHaveLength(before + 1)
    const succeeded = answers.filter(({ status }) => status === 200)
    expect(new Set(succeeded.map(({ body }) => (body as { id: string }).id)).size).toBe(1)
    for (const { status, headers } of answers.filter((answer) => !succeeded.includes(answer)))
      expect([status, headers.get('retry-after')]).toEqual([409, '1'])
  })

  it('is carried out when the cause of its first rejection is gone', async () => {
    const path = '/sessions/not_yet/connection'
    expect((await post(path, {})).status).toBe(404)
    await stack.api.createSession({ customSessionId: 'not_yet' })
    const second = await post(path, {})
    expect([second.status, replayed(second)]).toEqual([200, false])
  })

  it('is carried out again after the death of the master that had started it', async () => {
    await post('/sessions', {})
    await stack.postgres.query(
      `UPDATE idempotent_call SET answer = NULL, master_id = 'master_dead' WHERE asked_at = (SELECT max(asked_at) FROM idempotent_call)`,
    )
    const again = await post('/sessions', {})
    expect([again.status, replayed(again)]).toEqual([200, false])
    expect(replayed(await post('/sessions', {}, key, 1))).toBe(true)
  })

  it('gets 409 while the master that started it is alive', async () => {
    await post('/sessions', {})
    await stack.postgres.query('UPDATE idempotent_call SET answer = NULL')
    const again = await post('/sessions', {}, key, 1)
    expect([again.status, again.headers.get('retry-after')]).toEqual([409, '1'])
  })

  it('gets the stored answer also when storing it had to be retried', async () => {
    await stack.postgres.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
      AS 'BEGIN RAISE EXCEPTION USING ERRCODE = ''57014''; END'`)
    await stack.postgres.query(
      'CREATE TRIGGER refusal BEFORE UPDATE OR DELETE ON idempotent_call FOR EACH ROW EXECUTE FUNCTION refuse()',
    )
    const first = await post('/sessions', {})
    expect([first.status, (await post('/sessions', {})).status]).toEqual([200, 409])
    await stack.postgres.query('DROP TRIGGER refusal ON idempotent_call')
    const again = await until('the answer is stored', async () => {
      const answer = await post('/sessions', {})
      return answer.status === 200 && answer
    })
    expect([replayed(again), again.body]).toEqual([true, first.body])
  })

  it('can use a deprecated path', async () => {
    const old = (): Promise<RestAnswer> =>
      stack.api.transport.send({ method: 'POST', path: '/api/sessions', body: {}, idempotencyKey: key })
    const [first, again] = [await old(), await old()]
    expect([replayed(first), replayed(again), again.body]).toEqual([false, true, first.body])
  })

  it('is carried out again after a day', async () => {
    await post('/sessions', {})
    await stack.postgres.query(`UPDATE idempotent_call SET asked_at = asked_at - interval '25 hours'`)
    const again = await post('/sessions', {})
    expect([again.status, replayed(again)]).toEqual([200, false])
    expect(replayed(await post('/sessions', {}))).toBe(true)
  })

  it.each(['', 'two words', 'x'.repeat(256), 'ümlaut'])('is rejected with 400 when the key is %j', async (bad) => {
    const answer = await fetch(`${stack.masterUrl}/service/api/sessions`, {
      method: 'POST',
      headers: {
        authorization: stack.authorization,
        'idempotency-key': bad,
      },
    })
    expect(answer.status).toBe(400)
    expect(((await answer.json()) as { message: string }).message).toContain('Idempotency-Key')
  })
})

it('the REST client retries when an answer is lost, and one session is created', async () => {
  const { hostname, port } = new URL(stack.masterUrl)
  const proxy = await TcpProxy.open({ host: hostname, port: Number(port) })
  try {
    const before = (await sessionIds()).length
    proxy.mode = { cutAfterBytes: 20 }
    const client = new RestClient({ url: proxy.via(stack.masterUrl), secret: stack.secret, retries: 10 })
    const creating = client.createSession({}, { idempotencyKey: key })
    await until('the session exists', async () => (await sessionIds()).length === before + 1)
    proxy.mode = 'pass'
    const { id } = await creating
    const after = await sessionIds()
    expect(after).toHaveLength(before + 1)
    expect(after).toContain(id)
  } finally {
    await proxy.close()
  }
})

it('calls of more than a day ago are deleted, more than one statement deletes', async () => {
  await stack.postgres.query('DELETE FROM idempotent_call')
  await stack.postgres.query(
    `INSERT INTO idempotent_call (key, request, master_id, claim, asked_at)
     SELECT 'call' || g, '', '', '', clock_timestamp() - interval '1 hour' * CASE WHEN g > 10001 THEN 23 ELSE 25 END
     FROM generate_series(1, 10003) g`,
  )
  const source = await createDataSource(stack.postgres.url, [], () => undefined).initialize()
  const calls = new IdempotentCalls(source, 'master', { SERVICE_SECRET: stack.secret } as MasterConfig)
  await calls.purgeOld({ isStopping: () => false })
  await source.destroy()
  const left = await stack.postgres.query('SELECT key FROM idempotent_call ORDER BY 1')
  expect(left).toEqual([{ key: 'call10002' }, { key: 'call10003' }])
})
