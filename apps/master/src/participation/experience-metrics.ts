import type { SignallingCall } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'

const STEPS = ['socket', 'answer', 'ice', 'media'] as const
const CANDIDATES = ['udp', 'tcp', 'relay'] as const

const steps = metrics.histogram('client_join_step_seconds', {
  help: 'Time of the steps of joining as clients report it',
  labels: { step: STEPS },
  buckets: [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30],
})
const transports = metrics.counter('client_transports_total', {
  help: 'Clients that have reported how they send their media: directly over UDP or TCP, or by a relay',
  labels: { candidate: CANDIDATES },
})
const frozen = metrics.histogram('client_frozen_ratio', {
  help: 'Share of the time in which the received videos of a client were frozen, for each report',
  buckets: [0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1],
})
const freezes = metrics.counter('client_freezes_total', { help: 'Freezes of received videos that clients reported' })
const frozenSeconds = metrics.counter('client_frozen_seconds_total', {
  help: 'Time in which received videos were frozen, as clients report it',
})
const videoSeconds = metrics.counter('client_video_seconds_total', {
  help: 'Time of received videos that the reports of clients cover',
})

/** @param isFirst whether the participant has not reported its join before */
export function observeExperience(report: SignallingCall<'reportExperience'>, isFirst: boolean): void {
  const { join, candidate, playback } = report
  if (isFirst && join) {
    const { socketMs: socket, answerMs: answer, iceMs: ice, mediaMs: media } = join
    for (const [step, ms] of Object.entries({ socket, answer, ice, media }))
      if (ms !== undefined) steps.observe({ step }, ms / 1_000)
  }
  if (isFirst && candidate) transports.inc({ candidate })
  if (!playback || playback.videoSeconds === 0) return
  // A video cannot be frozen for longer than it is received.
  const frozenFor = Math.min(playback.frozenSeconds, playback.videoSeconds)
  frozen.observe({}, frozenFor / playback.videoSeconds)
  freezes.inc({}, playback.freezes)
  frozenSeconds.inc({}, frozenFor)
  videoSeconds.inc({}, playback.videoSeconds)
}
