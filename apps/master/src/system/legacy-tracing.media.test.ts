import { type Stack, startStack, SyntheticV2Participant, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { V2Socket } from '../legacy-clients/fixtures/v2-socket.js'
import { type CollectedSpan, TraceCollector } from './fixtures/trace-collector.js'

const PREFIX = 'legacy'
let collector: TraceCollector
let stack: Stack

beforeAll(async () => {
  collector = await TraceCollector.open()
  stack = await startStack({
    env: { SERVICE_TRACING_ENDPOINT: collector.url },
    masterEnv: { SERVICE_COMPAT_PREFIX: PREFIX },
  })
}, 60_000)
afterAll(async () => {
  await stack.stop()
  await collector.close()
})

/** The names of a span and of those that caused it, the first one first. */
function pathTo(span: CollectedSpan): string[] {
  const parent = collector.of(span.traceId).find(({ spanId }) => spanId === span.parentSpanId)
  return parent ? [...pathTo(parent), span.name] : [span.name]
}

/** The first span with the name about this connection. */
const spanOf = (connectionId: string, name: string): Promise<CollectedSpan> =>
  until(`the span ${name}`, () =>
    collector.spans.find((span) => span.name === name && span.attributes['connection.id'] === connectionId),
  )

it('one trace leads from the request for a connection to the first media of a client of version 2', async () => {
  const { id } = await stack.api.createSession()
  const [publishing, viewing] = [await stack.api.createConnection(id), await stack.api.createConnection(id)]
  const publisher = await SyntheticV2Participant.join(publishing.token ?? '', PREFIX)
  const viewer = await SyntheticV2Participant.join(viewing.token ?? '', PREFIX)
  const { streamId } = await publisher.publish()
  const subscription = await viewer.subscribe(streamId)
  await until('media flows', () => {
    const { audio, video } = subscription.stats()
    return (audio?.packets ?? 0) > 0 && (video?.keyFrames ?? 0) > 0
  })
  const { traceId } = await spanOf(publishing.id, 'signalling publishVideo')
  const media = await until('the span of the media', () =>
    collector.of(traceId).find(({ name }) => name === 'first media published'),
  )
  expect(pathTo(media)).toEqual([
    'POST /service/api/sessions/:sessionId/connection',
    'signalling join',
    'signalling publishVideo',
    'bus publish',
    'handle publish',
    'first media published',
  ])
  for (const method of ['prepareReceiveVideoFrom', 'receiveVideoFrom'])
    expect(pathTo(await spanOf(viewing.id, `signalling ${method}`)).slice(1)).toEqual([
      'signalling join',
      `signalling ${method}`,
    ])
  expect(collector.spans.filter(({ name }) => /onIceCandidate|ping/.test(name))).toEqual([])
  await Promise.all([publisher.leave(), viewer.leave()])
})

it('the spans of refused calls have the code of the error', async () => {
  const { id } = await stack.api.createSession()
  const connection = await stack.api.createConnection(id, { role: 'SUBSCRIBER' })
  const client = await V2Socket.open(stack.masterUrl, `/${PREFIX}?sessionId=${id}`)
  const { sessionId } = await client.join(connection.token ?? '')
  await expect(client.call('forceDisconnect', { connectionId: 'con_x' })).rejects.toMatchObject({ code: 401 })
  const refused = await spanOf(connection.id, 'signalling forceDisconnect')
  expect(refused.attributes).toMatchObject({ 'error.type': 'NOT_ALLOWED', 'session.id': id })
  client.cut()
  const again = await V2Socket.open(stack.masterUrl, `/${PREFIX}?sessionId=${id}&reconnect=true`)
  await again.call('connect', { sessionId, reconnect: true })
  await until('the span of the new socket', () => collector.spans.some(({ name }) => name === 'signalling resume'))
  await again.call('leaveRoom', {})
  await again.close()
})
