import { metrics } from '@session-service/server-kit'
import { countOutcomes, OUTCOMES } from '../media-nodes/request-outcomes.js'

const REQUESTS = ['load', 'unload', 'subscribe', 'transcribe'] as const

const requests = metrics.counter('speech_to_text_requests_total', {
  help: 'Requests for speech to text to media nodes, by outcome: ok, or the code of the error',
  labels: { request: REQUESTS, outcome: OUTCOMES },
})

/** Counts a request by its outcome. */
export const counted = countOutcomes<(typeof REQUESTS)[number]>(requests)
