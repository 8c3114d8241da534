import { ServiceError, type ErrorCode } from '@session-service/contract'
import { registry } from '@session-service/server-kit'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { countConnection, measureRequest } from './bus-metrics.js'

beforeEach(() => registry.resetMetrics())

async function series(name: string): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n')
  return lines.filter((line) => line.startsWith(`session_service_${name}`) && !line.endsWith(' 0'))
}
const failure = (code: ErrorCode) => (): Promise<never> => Promise.reject(new ServiceError(code, 'no'))

describe('a request on the bus', () => {
  it.each<[string, string, () => Promise<unknown>, string, string]>([
    ['to a node', 'node.n1.join', async () => 1, 'command', 'answered'],
    ['of a node', 'fact.n1', async () => 1, 'report', 'answered'],
    ['between masters', 'master.m1.health', async () => 1, 'health', 'answered'],
    ['on another subject', 'session.s1', async () => 1, 'other', 'answered'],
    ['without an answer', 'node.n1.join', failure('TIMEOUT'), 'command', 'timeout'],
    ['without a receiver', 'node.n1.join', failure('UNAVAILABLE'), 'command', 'unavailable'],
    ['that is answered by an error', 'node.n1.join', failure('CONFLICT'), 'command', 'refused'],
  ])('%s is counted by its subject and outcome', async (_, subject, request, kind, outcome) => {
    await measureRequest(subject, request).catch(() => undefined)
    expect(await series('bus_request_seconds_count')).toEqual([
      `session_service_bus_request_seconds_count{subject="${kind}",outcome="${outcome}"} 1`,
    ])
  })

  it('keeps its answer and its error', async () => {
    await expect(measureRequest('fact.n1', async () => 7)).resolves.toBe(7)
    await expect(measureRequest('fact.n1', failure('CONFLICT'))).rejects.toMatchObject({ code: 'CONFLICT' })
  })
})

it('the connection to the bus is counted', async () => {
  countConnection({ isConnected: true, isReconnect: false })
  expect(await series('bus_connected')).toEqual(['session_service_bus_connected 1'])
  countConnection({ isConnected: false, isReconnect: false })
  expect([await series('bus_connected'), await series('bus_reconnects')]).toEqual([[], []])
  countConnection({ isConnected: true, isReconnect: true })
  expect(await series('bus_reconnects')).toEqual(['session_service_bus_reconnects_total 1'])
})
