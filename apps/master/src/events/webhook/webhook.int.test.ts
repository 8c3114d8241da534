import { randomBytes } from 'node:crypto'
import { EventSink, startStack, type Stack, until, webhookEnv } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`
const secrets = [newSecret(), newSecret()]

let stack: Stack
let sink: EventSink

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({
    nodes: 0,
    masters: 2,
    masterEnv: {
      ...webhookEnv(sink),
      SERVICE_WEBHOOK_SECRETS: JSON.stringify(secrets),
      SERVICE_WEBHOOK_HEADERS: '["X-Kept: one", "Authorization: Basic Zm9v"]',
      SERVICE_WEBHOOK_EVENTS: '["sessionCreated", "sessionDestroyed"]',
      SERVICE_WEBHOOK_PARALLEL: '4',
    },
  })
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})
beforeEach(() => {
  sink.behaviour = () => undefined
})

const oneSession = async (): Promise<string> => {
  const { id } = await stack.api.createSession()
  await stack.api.deleteSession(id)
  return id
}

/** Queues events of one session, like `event`, with the timestamps 0, 1, 2 and so on. Returns their ids. */
async function queueEvents(count: number, event: object | undefined): Promise<string[]> {
  const key = randomBytes(4).toString('hex')
  const ids = Array.from({ length: count }, (_, nth) => `evt_${key}_${nth}`)
  await stack.postgres.query(
    `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at)
     SELECT id, 'webhook', $3, 'sessionDestroyed', $2::jsonb || jsonb_build_object('timestamp', nth - 1), 1
     FROM unnest($1::text[]) WITH ORDINALITY AS r(id, nth) ORDER BY nth`,
    [ids, JSON.stringify({ ...event, event: undefined }), key],
  )
  return ids
}

describe('a webhook', () => {
  it('carries the configured headers and signatures that an independent library verifies, with either secret', async () => {
    const id = await oneSession()
    await sink.ended(id)
    const [{ body, headers } = { body: '', headers: {} }] = sink.ofSession(id)
    expect(headers).toMatchObject({ 'x-kept': 'one', authorization: 'Basic Zm9v' })
    expect(headers['content-type']).toContain('application/json')
    const signed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    for (const secret of secrets) {
      expect(new Webhook(secret).verify(body, signed)).toMatchObject({ event: 'sessionCreated', sessionId: id })
      expect(() => new Webhook(secret).verify(`${body} `, signed)).toThrow('No matching signature found')
      const old = { ...signed, 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) - 600) }
      expect(() => new Webhook(secret).verify(body, old)).toThrow('too old')
    }
    expect(() => new Webhook(newSecret()).verify(body, signed)).toThrow('No matching signature found')
  })

  it.each([500, 404, 302])(
    'that is answered %d is posted again; the session’s next event waits, other sessions go on',
    async (status) => {
      const stubborn = await stack.api.createSession()
      await until('the first event is posted', () => sink.names(stubborn.id).length === 1)
      sink.behaviour = ({ sessionId, event }, before) =>
        sessionId === stubborn.id && event === 'sessionDestroyed' && before < 3
          ? { status, headers: { location: `${sink.url}/elsewhere` } }
          : undefined
      await stack.api.deleteSession(stubborn.id)
      const others = await Promise.all(Array.from({ length: 5 }, oneSession))
      await Promise.all([stubborn.id, ...others].map((id) => sink.ended(id)))
      const tries = sink.received.filter(
        ({ event }) => event.sessionId === stubborn.id && event.event === 'sessionDestroyed',
      )
      expect(tries.map((one) => one.status)).toEqual([status, status, status, 200])
      expect(new Set(tries.map(({ id }) => id)).size).toBe(1)
      expect(new Set(tries.map(({ body }) => body)).size).toBe(1)
    },
  )

  it('is retried after the delay of Retry-After, and keeps the order within the session meanwhile', async () => {
    sink.behaviour = ({ event }, before) =>
      event === 'sessionCreated' && before === 0 ? { status: 429, headers: { 'retry-after': '2' } } : undefined
    const id = await oneSession()
    await sink.ended(id)
    const [first, second] = sink.received.filter(({ event }) => event.sessionId === id)
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_950)
    expect(sink.names(id)).toEqual(['sessionCreated', 'sessionDestroyed'])
  })

  it('times out when the receiver is slow, and delays no other session', async () => {
    const slow = await stack.api.createSession()
    await until('the first event is posted', () => sink.names(slow.id).length === 1)
    sink.behaviour = ({ sessionId }, before) => (sessionId === slow.id && before === 0 ? { hang: true } : undefined)
    await stack.api.deleteSession(slow.id)
    const others = await Promise.all(Array.from({ length: 10 }, oneSession))
    await Promise.all(others.map((id) => sink.ended(id)))
    await sink.ended(slow.id)
    expect(sink.received.filter(({ event }) => event.sessionId === slow.id).map(({ status }) => status)).toEqual([
      200, 0, 200,
    ])
  })

  it('posts no event of a session after one that is refused, and the others as soon as that is accepted', async () => {
    const session = await oneSession()
    await sink.ended(session)
    const [, last] = sink.received.filter(({ event }) => event.sessionId === session)
    let isRefused = true
    sink.behaviour = ({ timestamp }) => (timestamp === 12 && isRefused ? { status: 503 } : undefined)
    const ids = await queueEvents(30, last?.event)
    const received = (): string[] => sink.received.map(({ id }) => id).filter((id) => ids.includes(id))
    await until('the event is refused twice', () => received().length >= 14)
    const claimed = `SELECT 1 FROM outbox WHERE id = ANY($1) AND next_attempt_at > clock_timestamp()`
    await until(
      'no event behind it is claimed',
      async () => {
        return (await stack.postgres.query(claimed, [ids.slice(13)])).length === 0
      },
      3_000,
    )
    isRefused = false
    await until('the queue is posted', () => received().at(-1) === ids.at(-1))
    const again = received().length - ids.length
    expect(received()).toEqual(ids.flatMap((id, nth) => Array.from({ length: nth === 12 ? again + 1 : 1 }, () => id)))
  })

  it('posts the events behind a long queue of a session that is refused, and the queue in order when it is accepted', async () => {
    const session = await oneSession()
    await sink.ended(session)
    let isRefused = true
    const isQueued = ({ event, sessionId }: { event: string; sessionId?: string }): boolean =>
      sessionId === session && event === 'sessionDestroyed'
    sink.behaviour = (event) => (isQueued(event) && isRefused ? { status: 503 } : undefined)
    const [{ event: queued } = { event: undefined }] = sink.received.filter(({ event }) => isQueued(event))
    const ids = await queueEvents(230, queued)
    await until('the queue is refused', () => sink.received.some(({ id, status }) => id === ids[0] && status === 503))
    await sink.ended(await oneSession())
    expect(sink.accepted.filter(({ id }) => ids.includes(id))).toEqual([])
    isRefused = false
    const posted = (): string[] => sink.accepted.map(({ id }) => id).filter((id) => ids.includes(id))
    await until('the queue is posted', () => posted().length === ids.length)
    expect(posted()).toEqual(ids)
  })

  it('is posted no more often at the same time than both masters may post', async () => {
    sink.mostAtOnce = 0
    const ids = await Promise.all(Array.from({ length: 60 }, oneSession))
    await Promise.all(ids.map((id) => sink.ended(id)))
    for (const id of ids) expect(sink.names(id)).toEqual(['sessionCreated', 'sessionDestroyed'])
    expect(sink.mostAtOnce).toBeLessThanOrEqual(8)
  })

  it('does not read an endless answer to its end', async () => {
    sink.behaviour = (_, before) => (before === 0 ? { status: 500, body: 'x'.repeat(5_000_000) } : undefined)
    const id = await oneSession()
    await sink.ended(id)
    expect(sink.names(id)).toHaveLength(2)
  })
})

describe('events whose receiver is unavailable for longer than they are kept', () => {
  let dead: Stack
  let away: EventSink
  beforeAll(async () => {
    away = await EventSink.open()
    dead = await startStack({ nodes: 0, masterEnv: { ...webhookEnv(away), SERVICE_WEBHOOK_GIVE_UP_AFTER: '1' } })
  })
  afterAll(async () => {
    await dead.stop()
    await away.close()
  })

  const deadLetters = async (): Promise<{ numberOfElements: number; content: { id: string; event: string }[] }> =>
    (await dead.rest('GET', '/webhook/dead-letters')).body as never

  it('become dead letters that are listed, replayed under the same id, and deleted', async () => {
    away.behaviour = () => ({ status: 503 })
    const { id } = await dead.api.createSession()
    await dead.api.deleteSession(id)
    await until('both are given up', async () => (await deadLetters()).numberOfElements === 2, 30_000)
    const { content } = await deadLetters()
    expect(content[0]).toMatchObject({
      object: 'deadLetter',
      event: 'sessionCreated',
      lastError: 'status 503',
      payload: { event: 'sessionCreated', sessionId: id },
    })
    const metrics = await (await fetch(new URL('/metrics', dead.masters[0]?.opsUrl))).text()
    expect(metrics).toMatch(/session_service_webhook_dead 2/)
    expect(metrics).toMatch(/session_service_webhook_attempts_total\{outcome="failed"\} [1-9]\d*/)

    away.behaviour = () => undefined
    const [first] = content
    expect((await dead.rest('POST', `/webhook/dead-letters/${first?.id}/replay`)).body).toEqual({ replayed: 1 })
    await until('it is posted', () => away.names(id).length === 1)
    expect(away.ofSession(id)[0]?.id).toBe(first?.id)
    expect((await dead.rest('POST', '/webhook/dead-letters/replay')).body).toEqual({ replayed: 1 })
    await away.ended(id)
    expect((await dead.rest('POST', '/webhook/dead-letters/evt_none/replay')).status).toBe(404)

    away.behaviour = () => ({ status: 503 })
    await dead.api.createSession()
    await until('it is given up', async () => (await deadLetters()).numberOfElements === 1, 30_000)
    expect((await dead.rest('DELETE', '/webhook/dead-letters')).status).toBe(204)
    expect((await deadLetters()).numberOfElements).toBe(0)
    expect((await dead.rest('DELETE', '/webhook/dead-letters/evt_none')).status).toBe(404)
  })
})
