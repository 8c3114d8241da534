import { Heartbeat } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { inClusterTime } from './cluster-time.js'

const NOW = 1_800_000_000_000

const beat = (times: Partial<Heartbeat>): Heartbeat =>
  Heartbeat.parse({
    ...{ nodeId: 'n', bootId: 'b', ip: '127.0.0.1', status: 'draining', cpuLoad: 0, memoryBytes: 0, workers: 1 },
    ...{ rooms: 0, connections: 0, streams: 0, consumers: 0, ...times },
  })

describe('inClusterTime', () => {
  it.each([0, 30_000, -30_000, 3_600_000, -3_600_000])(
    'corrects the times of a node whose clock is %d ms off',
    (off) => {
      const sentAt = NOW + off
      const { launchedAt, drainDeadline } = inClusterTime(
        beat({ sentAt, launchedAt: sentAt - 60_000, drainDeadline: sentAt + 5_000 }),
        NOW,
      )
      expect({ launchedAt, drainDeadline }).toEqual({ launchedAt: NOW - 60_000, drainDeadline: NOW + 5_000 })
    },
  )

  it('leaves unknown times unknown', () => {
    const { launchedAt, drainDeadline } = inClusterTime(beat({ sentAt: 5, launchedAt: 0, drainDeadline: null }), NOW)
    expect({ launchedAt, drainDeadline }).toEqual({ launchedAt: 0, drainDeadline: null })
  })
})
