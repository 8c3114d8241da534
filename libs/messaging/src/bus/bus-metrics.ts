import { ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'

const SUBJECTS = { node: 'command', fact: 'report', repeatedFact: 'report', master: 'health' } as const

const connected = metrics.gauge('bus_connected', { help: '1 while this process is connected to the message bus' })
const reconnects = metrics.counter('bus_reconnects_total', { help: 'Reconnections of this process to the message bus' })
const requests = metrics.histogram('bus_request_seconds', {
  help: 'Time until a request on the message bus was answered or failed, by kind of subject and outcome',
  labels: {
    subject: [...new Set(Object.values(SUBJECTS))],
    outcome: ['answered', 'refused', 'timeout', 'unavailable'],
  },
  buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
})

export function countConnection({ isConnected, isReconnect }: { isConnected: boolean; isReconnect: boolean }): void {
  connected.set({}, Number(isConnected))
  if (isReconnect) reconnects.inc({})
}

/** Measures a request until its answer, also one that is an error of the responder. */
export async function measureRequest<T>(subject: string, request: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const done = (outcome: string): void => {
    const kind = SUBJECTS[subject.split('.')[0] as keyof typeof SUBJECTS] ?? 'other'
    requests.observe({ subject: kind, outcome }, (performance.now() - startedAt) / 1_000)
  }
  try {
    const answer = await request()
    done('answered')
    return answer
  } catch (error) {
    const code = error instanceof ServiceError ? error.code : 'INTERNAL'
    done(code === 'TIMEOUT' ? 'timeout' : code === 'UNAVAILABLE' ? 'unavailable' : 'refused')
    throw error
  }
}
