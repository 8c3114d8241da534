import { expect, it } from '@jest/globals'
import { workerCount } from './worker-count.js'

const CORES = 4

it.each([
  ['a worker for each core on free ports', 0, 0, 4],
  ['the configured workers', 2, 40_000, 2],
  ['the last port for the last worker', 0, 65_532, 4],
])('a node has %s', (_, MEDIA_NODE_WORKERS, MEDIA_NODE_RTC_PORT, expected) => {
  expect(workerCount({ MEDIA_NODE_WORKERS, MEDIA_NODE_RTC_PORT }, CORES)).toBe(expected)
})

it('a node refuses a first port after which there are not enough', () => {
  expect(() => workerCount({ MEDIA_NODE_WORKERS: 0, MEDIA_NODE_RTC_PORT: 65_533 }, CORES)).toThrow(
    'MEDIA_NODE_RTC_PORT: must be at most 65532 with 4 workers, which use one port each, not "65533"',
  )
})
