import { randomBytes } from 'node:crypto'
import { EventSink, type Stack, startStack, SyntheticParticipant, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { z } from 'zod'
import { type CollectedSpan, TraceCollector } from './fixtures/trace-collector.js'

let collector: TraceCollector
let sink: EventSink
let stack: Stack
const secrets: string[] = []

beforeAll(async () => {
  collector = await TraceCollector.open()
  sink = await EventSink.open()
  stack = await startStack({
    env: { SERVICE_TRACING_ENDPOINT: collector.url, SERVICE_LOG_LEVEL: 'debug' },
    masterEnv: {
      SERVICE_WEBHOOK: 'true',
      SERVICE_WEBHOOK_ENDPOINT: sink.url,
      SERVICE_WEBHOOK_ALLOWED_ADDRESSES: '["127.0.0.1"]',
    },
  })
  secrets.push(stack.secret)
}, 60_000)
afterAll(async () => {
  await stack.stop()
  await sink.close()
  await collector.close()
})

const Body = z.object({ id: z.string(), token: z.string().default('') })
interface Posted {
  answer: Response
  body: z.infer<typeof Body>
}

const authorization = () => ({
  authorization: stack.authorization,
})

/** A request of a backend that records a trace of its own, or does not. */
async function post(path: string, body: object, traceparent?: string): Promise<Posted> {
  const answer = await fetch(`${stack.masterUrl}/service/api${path}`, {
    method: 'POST',
    headers: { ...authorization(), 'content-type': 'application/json', ...(traceparent && { traceparent }) },
    body: JSON.stringify(body),
  })
  return { answer, body: Body.parse(await answer.json()) }
}

const newTrace = (): { traceId: string; spanId: string } => ({
  traceId: randomBytes(16).toString('hex'),
  spanId: randomBytes(8).toString('hex'),
})

/** The names of a span and of those that caused it, the first one first. */
function pathTo(span: CollectedSpan): string[] {
  const parent = collector.of(span.traceId).find(({ spanId }) => spanId === span.parentSpanId)
  const name = `${span.service}: ${span.name}`
  return parent ? [...pathTo(parent), name] : [name]
}

it('one trace leads from the request for a connection over bus and node to the first media', async () => {
  const { body: session } = await post('/sessions', {})
  const request = await post(`/sessions/${session.id}/connection`, { role: 'PUBLISHER', data: 'data-of-the-backend' })
  const traceId = request.answer.headers.get('traceparent')?.split('-')[1] ?? ''
  const viewerRequest = await post(`/sessions/${session.id}/connection`, { role: 'SUBSCRIBER' })
  secrets.push(...[request, viewerRequest].map(({ body }) => new URL(body.token).searchParams.get('token') ?? ''))
  const publisher = await SyntheticParticipant.join(request.body.token, { clientData: 'data-of-the-client' })
  const viewer = await SyntheticParticipant.join(viewerRequest.body.token)
  const { streamId } = await publisher.publish({ audio: true, video: true })
  const received = await viewer.subscribe(streamId)
  await until('media flows', () => (received.stats().audio?.packets ?? 0) > 0)
  const named = (name: string): CollectedSpan[] => collector.of(traceId).filter((span) => span.name === name)
  await until('the spans of the publication have arrived', () => named('first media published').length === 2)
  await until('the master has sent its spans', () => named('signalling publish').length === 1)

  const [start] = named('POST /service/api/sessions/:sessionId/connection')
  expect(start).toMatchObject({
    service: 'master',
    attributes: { 'session.id': session.id, 'connection.id': request.body.id, 'http.response.status_code': 200 },
  })
  expect(start?.parentSpanId).toBeUndefined()
  const [media] = named('first media published')
  if (!media || !start) throw new Error('a span is missing')
  expect(pathTo(media)).toEqual([
    'master: POST /service/api/sessions/:sessionId/connection',
    'master: signalling join',
    'master: signalling publish',
    'master: bus publish',
    'media-node: handle publish',
    'media-node: first media published',
  ])
  expect(media.endTimeUnixNano).toBeGreaterThan(media.startTimeUnixNano)
  const [produced] = named('worker produce')
  expect(produced && pathTo(produced).at(-2)).toBe('media-node: handle publish')
  const [opened] = named('worker createWebRtcTransport')
  expect(opened && pathTo(opened).slice(1)).toEqual([
    'master: signalling join',
    'master: bus join',
    'media-node: handle join',
    'media-node: worker createWebRtcTransport',
  ])

  const viewerTrace = viewerRequest.answer.headers.get('traceparent')?.split('-')[1] ?? ''
  const viewed = (): CollectedSpan[] => collector.of(viewerTrace).filter(({ name }) => name === 'first media received')
  await until('the spans of the subscription have arrived', () => viewed().length === 2)
  expect(viewed().map(({ status }) => status?.code ?? 0)).toEqual([0, 0])
  await publisher.close()
  await viewer.close()
}, 60_000)

it('a trace of the caller continues in answer, log and webhook', async () => {
  const { traceId, spanId } = newTrace()
  const { answer, body } = await post('/sessions', {}, `00-${traceId}-${spanId}-01`)
  expect(answer.headers.get('traceparent')).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
  await until('the webhook has the event', () => sink.names(body.id).includes('sessionCreated'))
  const [event] = sink.ofSession(body.id)
  expect(event?.headers.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
  await until('the log has the id of the trace', () =>
    stack.journal.find(traceId).some((line) => line.includes('"path":"/service/api/sessions"')),
  )
  await until('the spans have arrived', () => collector.of(traceId).length === 2)
  const [request, webhook] = collector.of(traceId).sort((one, other) => one.name.localeCompare(other.name))
  expect(request).toMatchObject({ name: 'POST /service/api/sessions', parentSpanId: spanId })
  expect(webhook).toMatchObject({ name: 'webhook sessionCreated', parentSpanId: request?.spanId })
})

it('the events of a participant that a backend removes continue the trace of its request', async () => {
  const { traceId, spanId } = newTrace()
  const { id } = await stack.api.createSession()
  const client = await stack.join(id)
  const [connection] = (await stack.api.getSession(id)).connections.content
  const removal = await fetch(`${stack.masterUrl}/service/api/sessions/${id}/connection/${connection?.id}`, {
    method: 'DELETE',
    headers: { ...authorization(), traceparent: `00-${traceId}-${spanId}-01` },
  })
  expect(removal.status).toBe(204)
  await until('the webhook has the last event', () => sink.names(id).includes('sessionDestroyed'))
  const traces = sink
    .ofSession(id)
    .map(({ event, headers }) => [event.event, String(headers.traceparent).split('-')[1]])
  expect(traces.slice(-2)).toEqual([
    ['participantLeft', traceId],
    ['sessionDestroyed', traceId],
  ])
  await client.close()
})

it('a caller that does not record its trace gets no spans, and its trace id in the answer', async () => {
  const { traceId, spanId } = newTrace()
  const silent = await post('/sessions', {}, `00-${traceId}-${spanId}-00`)
  expect(silent.answer.headers.get('traceparent')).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))
  const later = newTrace()
  const { body } = await post('/sessions', {}, `00-${later.traceId}-${later.spanId}-01`)
  await until('later spans have arrived', () => collector.of(later.traceId).length > 0)
  await until('the webhooks have both events', () => sink.names(body.id).length > 0)
  await until('the earlier webhook has arrived', () => sink.names(silent.body.id).length > 0)
  expect(sink.ofSession(silent.body.id)[0]?.headers.traceparent).toBeUndefined()
  expect(collector.of(traceId)).toEqual([])
})

it('a request without credentials has no span, whatever it asks for', async () => {
  const { traceId, spanId } = newTrace()
  const traceparent = `00-${traceId}-${spanId}-01`
  const refused = await fetch(`${stack.masterUrl}/service/api/sessions`, { headers: { traceparent } })
  expect([refused.status, refused.headers.get('traceparent')]).toEqual([401, null])
})

it('the log level of a running process changes at once', async () => {
  const port = (kind: 'masters' | 'nodes'): string => stack[kind][0]?.env.SERVICE_OPS_PORT ?? ''
  for (const kind of ['masters', 'nodes'] as const) {
    const change = (level: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port(kind)}/log-level?level=${level}`, { method: 'POST' })
    const invalid = await change('loud')
    expect([invalid.status, await invalid.json()]).toEqual([
      400,
      { error: 'level: must be one of fatal, error, warn, info, debug, trace' },
    ])
    expect(await (await change('warn')).json()).toEqual({ level: 'warn', former: 'debug' })
  }
  const quiet = await post('/sessions', { customSessionId: 'quiet' })
  await fetch(`http://127.0.0.1:${port('masters')}/log-level?level=debug`, { method: 'POST' })
  const loud = await post('/sessions', { customSessionId: 'loud' })
  const idOf = ({ answer }: { answer: Response }): string => answer.headers.get('x-request-id') ?? ''
  await until('requests are logged again', () => stack.journal.find(idOf(loud)).length > 0)
  expect(stack.journal.find(idOf(quiet))).toEqual([])
})

it('spans have no secrets and no data of clients and backends', () => {
  expect(collector.problems).toEqual([])
  expect([...collector.paths]).toEqual(['/v1/traces'])
  const sent = collector.bodies.join('\n')
  expect(sent).toContain('first media received')
  for (const secret of [...secrets, 'tok_', 'data-of-the-backend', 'data-of-the-client'])
    expect(sent).not.toContain(secret)
})
