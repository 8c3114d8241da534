import { metrics } from '@session-service/server-kit'

/** Frames, joins and sockets of clients that exceeded a limit. */
export const refusals = metrics.counter('signalling_refusals_total', {
  help: 'Refused frames, joins and sockets of clients, by the exceeded limit',
  labels: { limit: ['calls', 'bytes', 'failed_joins', 'unjoined_source', 'unjoined_total'] },
})
