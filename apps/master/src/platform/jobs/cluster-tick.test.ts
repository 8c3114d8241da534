import { until } from '@session-service/testing'
import { expect, it } from '@jest/globals'
import type { DiscoveryService } from '@nestjs/core'
import type { ClockSampler } from '../database/clock-sampler.js'
import type { ClusterMembership } from './cluster-membership.js'
import { ClusterTick } from './cluster-tick.js'
import type { Scheduler } from './scheduler.js'

it('leaves the cluster after the report that is in flight, so that none is written later', async () => {
  const steps: string[] = []
  const { promise: written, resolve: write } = Promise.withResolvers<undefined>()
  const membership: Pick<ClusterMembership, 'renewal' | 'report' | 'isResting' | 'leave'> = {
    renewal: '',
    isResting: false,
    report: () => ({ values: [], done: () => undefined }),
    leave: () => Promise.resolve(void steps.push('left')),
  }
  const query = async (): Promise<undefined> => {
    steps.push('reports')
    await written
    steps.push('reported')
  }
  const scheduler = { periodicRead: 'SELECT 1', lease: { query } }
  const discovery = { getProviders: () => [] }
  const tick = new ClusterTick(
    membership as ClusterMembership,
    scheduler as unknown as Scheduler,
    {} as ClockSampler,
    discovery as unknown as DiscoveryService,
  )
  tick.onApplicationBootstrap()
  await until('the master reports', () => steps.length > 0)
  const isShutDown = tick.onApplicationShutdown()
  setImmediate(() => write(undefined))
  await isShutDown
  expect(steps).toEqual(['reports', 'reported', 'left'])
})
