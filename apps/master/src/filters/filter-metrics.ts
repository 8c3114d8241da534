import { FILTER_TYPES } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { countOutcomes, OUTCOMES } from '../media-nodes/request-outcomes.js'

const REQUESTS = ['apply', 'execute', 'remove'] as const

const requests = metrics.counter('filter_requests_total', {
  help: 'Requests for filters to media nodes, by outcome: ok, or the code of the error',
  labels: { request: REQUESTS, outcome: OUTCOMES },
})
export const failures = metrics.counter('filters_failed_total', {
  help: 'Filters whose program failed, by type',
  labels: { type: FILTER_TYPES },
})

/** Counts a request by its outcome. */
export const counted = countOutcomes<(typeof REQUESTS)[number]>(requests)
