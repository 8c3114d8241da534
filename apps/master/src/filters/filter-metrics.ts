import { ERROR_CODES, FILTER_TYPES, ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'

const REQUESTS = ['apply', 'execute', 'remove'] as const

const requests = metrics.counter('filter_requests_total', {
  help: 'Requests for filters to media nodes, by outcome: ok, or the code of the error',
  labels: { request: REQUESTS, outcome: ['ok', ...ERROR_CODES] },
})
export const failures = metrics.counter('filters_failed_total', {
  help: 'Filters whose program failed, by type',
  labels: { type: FILTER_TYPES },
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
