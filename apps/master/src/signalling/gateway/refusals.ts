import { metrics } from '@session-service/server-kit'

/** Frames, joins and sockets of clients that exceeded a limit. */
export const refusals = metrics.counter('signalling_refusals_total', {
  help: 'Frames, signals and sockets of clients that were refused, by the limit they exceeded',
  labels: { limit: ['calls', 'bytes', 'failed_joins', 'unjoined_source', 'unjoined_total'] },
})
