import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { connect } from '@nats-io/transport-node'
import { busScope, DEFAULT_BUS_CLUSTER } from '@session-service/contract'
import { currentTraceId, currentTraceparent, inSpan, startTracing } from '@session-service/server-kit'
import { z } from 'zod'
import { NatsServer } from '../fixtures/nats-server.js'
import { TestBuses } from '../fixtures/test-buses.js'

const SEEN = [
  z.object({}),
  z.object({ traceId: z.string().optional(), traceparent: z.string().optional() }),
  2_000,
] as const
const { prefix: PREFIX } = busScope(DEFAULT_BUS_CLUSTER, 'master')

const collector = createServer((request, response) => {
  request.resume()
  response.end('{}')
})
let nats: NatsServer
let stopTracing: () => Promise<void>
const buses = new TestBuses()
beforeAll(async () => {
  nats = await NatsServer.start()
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  stopTracing = await startTracing({
    config: {
      SERVICE_TRACING_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
      SERVICE_TRACING_HEADERS: [],
      SERVICE_TRACING_SAMPLING: 100,
    },
    service: { name: 'test', version: '1', instanceId: 'test' },
    logger: { log: () => undefined, warn: () => undefined },
  })
})
afterEach(() => buses.clear())
afterAll(async () => {
  await stopTracing()
  collector.closeAllConnections()
  collector.close()
  await nats.kill()
})

const seen = () => ({ traceId: currentTraceId(), traceparent: currentTraceparent() })

it('a handler continues the trace of the request, in a span of its own', async () => {
  const [client, server] = [await buses.connect(nats.url), await buses.connect(nats.url)]
  server.serve('node.n1.seen', SEEN, seen)
  await server.flush()
  await inSpan('request', {}, async () => {
    const handled = await client.request('node.n1.seen', SEEN, {})
    expect(handled.traceId).toBe(currentTraceId())
    expect(handled.traceparent).not.toBe(currentTraceparent())
  })
})

it('a request outside of a trace has no headers, and its handler no span', async () => {
  const [client, server] = [await buses.connect(nats.url), await connect({ servers: nats.url })]
  const headers: unknown[] = []
  server.subscribe(`${PREFIX}raw`, {
    callback: (_, msg) => {
      headers.push(msg.headers)
      msg.respond('{}')
    },
  })
  await server.flush()
  await client.request('raw', SEEN, {})
  // A version without tracing answers so, too.
  await inSpan('request', {}, () => client.request('raw', SEEN, {}))
  await server.close()
  expect(headers).toEqual([undefined, expect.anything()])
  client.serve('seen', SEEN, seen)
  expect(await client.request('seen', SEEN, {})).toEqual({})
})
