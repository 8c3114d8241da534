import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { openTelemetry } from './open-telemetry.js'

let server: Server
let status: number
let requests: { headers: NodeJS.Dict<string | string[]>; body: string }[]
let failures: (string | undefined)[]
let stop: () => Promise<void>
beforeEach(async () => {
  status = 200
  requests = []
  failures = []
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      requests.push({ headers: request.headers, body })
      response.writeHead(status).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  await stop()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const urlOf = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`

function open(ratio = 1) {
  const opened = openTelemetry({
    url: urlOf(),
    headers: { authorization: 'Bearer of-the-collector' },
    ratio,
    service: { name: 'master', version: '1.2.3', instanceId: 'one' },
    onFailure: (error) => failures.push(error && 'failed'),
    exportEveryMs: 10,
  })
  stop = opened.stop
  return opened.backend
}

describe('openTelemetry', () => {
  it('sends spans with the service and the headers of the collector', async () => {
    const span = open().start('work', { kind: 'server', attributes: { 'session.id': 's' } }, undefined)
    span.fail('TIMEOUT')
    span.end()
    await until('the collector has the span', () => requests.length === 1)
    expect(requests[0]?.headers.authorization).toBe('Bearer of-the-collector')
    const body = requests[0]?.body ?? ''
    for (const part of ['"session-service"', '"master"', '"1.2.3"', '"work"', '"session.id"', '"TIMEOUT"'])
      expect(body).toContain(part)
  })

  it('records a trace of a caller as the caller does, and new ones at the configured share', () => {
    const backend = open(0)
    const parent = (flags: string): string => `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-${flags}`
    const sampled = backend.start('sampled', { parent: parent('01') }, undefined)
    expect(sampled.position).toMatchObject({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', isSampled: true })
    expect(backend.start('child', {}, sampled)).toMatchObject({ isRecording: true })
    expect(backend.start('unsampled', { parent: parent('00') }, undefined).isRecording).toBe(false)
    expect(backend.start('new', {}, undefined).isRecording).toBe(false)
    expect(backend.start('invalid', { parent: 'nonsense' }, undefined).isRecording).toBe(false)
  })

  it('reports an outage of the collector once, and its end', async () => {
    const backend = open()
    const sendSpan = async (name: string): Promise<void> => {
      const before = requests.length
      backend.start(name, {}, undefined).end()
      await until(`the collector has got ${name}`, () => requests.length > before)
    }
    status = 400
    await sendSpan('first')
    await until('the failure is reported', () => failures.length === 1)
    await sendSpan('second')
    status = 200
    await sendSpan('third')
    await until('the end of the outage is reported', () => failures.length === 2)
    expect(failures).toEqual(['failed', undefined])
  })
})

/** Prints the packages that are loaded in addition when tracing starts with this endpoint. */
const program = (endpoint: string): string => `
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({ resolve: (name, context, next) => { loaded.add(name); return next(name, context) } })
  const { startTracing } = await import(${JSON.stringify(import.meta.resolve('./start-tracing.js'))})
  const config = { SERVICE_TRACING_ENDPOINT: ${JSON.stringify(endpoint)}, SERVICE_TRACING_HEADERS: [], SERVICE_TRACING_SAMPLING: 100 }
  const service = { name: 'x', version: '1', instanceId: 'x' }
  const stop = await startTracing({ config, service, logger: console })
  await stop()
  console.log([...loaded].filter((name) => name.startsWith('@opentelemetry/sdk')).join())`

it.each([
  ['does not load the SDK without an endpoint', '', false],
  ['loads the SDK with one', 'http://127.0.0.1:9', true],
])('startTracing %s', async (_, endpoint, isLoaded) => {
  stop = () => Promise.resolve()
  const args = ['--input-type=module', '--eval', program(endpoint)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout.includes('@opentelemetry/sdk-trace')).toBe(isLoaded)
})
