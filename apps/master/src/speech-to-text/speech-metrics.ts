import { ERROR_CODES, ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'

const REQUESTS = ['load', 'unload', 'subscribe', 'transcribe'] as const

const requests = metrics.counter('speech_to_text_requests_total', {
  help: 'Requests for speech to text to media nodes, by outcome: ok, or the code of the error',
  labels: { request: REQUESTS, outcome: ['ok', ...ERROR_CODES] },
})

/** Counts a request by its outcome. */
export async function counted<T>(request: (typeof REQUESTS)[number], work: Promise<T>): Promise<T> {
  try {
    const result = await work
    requests.inc({ request, outcome: 'ok' })
    return result
  } catch (error) {
    requests.inc({ request, outcome: error instanceof ServiceError ? error.code : 'INTERNAL' })
    throw error
  }
}
