import { registry } from '@session-service/server-kit'
import { beforeEach, expect, it } from '@jest/globals'
import { observeExperience } from './experience-metrics.js'

beforeEach(() => registry.resetMetrics())

async function shown(): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n')
  return lines
    .filter((line) => /^session_service_client_(?!\w+_bucket)\S+ (?!0$)/.test(line))
    .map((line) => line.slice(16))
}

const join = { socketMs: 40, answerMs: 60 }
const playback = { videoSeconds: 60, freezes: 1, frozenSeconds: 6 }

it('the metrics contain the reported steps, the candidate and the freezes', async () => {
  observeExperience({ join: { ...join, mediaMs: 500 }, candidate: 'tcp', playback }, true)
  expect(await shown()).toEqual([
    'client_join_step_seconds_sum{step="socket"} 0.04',
    'client_join_step_seconds_count{step="socket"} 1',
    'client_join_step_seconds_sum{step="answer"} 0.06',
    'client_join_step_seconds_count{step="answer"} 1',
    'client_join_step_seconds_sum{step="media"} 0.5',
    'client_join_step_seconds_count{step="media"} 1',
    'client_transports_total{candidate="tcp"} 1',
    'client_frozen_ratio_sum 0.1',
    'client_frozen_ratio_count 1',
    'client_freezes_total 1',
    'client_frozen_seconds_total 6',
    'client_video_seconds_total 60',
  ])
})

it('the metrics contain only the freezes of a later report', async () => {
  observeExperience({ join, candidate: 'tcp' }, false)
  expect(await shown()).toEqual([])
})

it('a video is not frozen for longer than it is received', async () => {
  observeExperience({ playback: { videoSeconds: 10, freezes: 0, frozenSeconds: 7_200 } }, false)
  observeExperience({ playback: { videoSeconds: 0, freezes: 9, frozenSeconds: 9 } }, false)
  expect(await shown()).toEqual([
    'client_frozen_ratio_sum 1',
    'client_frozen_ratio_count 1',
    'client_frozen_seconds_total 10',
    'client_video_seconds_total 10',
  ])
})
