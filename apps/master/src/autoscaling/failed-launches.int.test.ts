import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { TestDatabase } from '@session-service/testing'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import type { NodeDriver } from '../media-nodes/driver/node-driver.js'
import type { DrivenNodesService } from '../media-nodes/driven-nodes.service.js'
import { MediaNodeRepository, type MediaNodeRow } from '../media-nodes/media-node.repository.js'
import type { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import type { NodeCommands } from '../media-nodes/node-commands.js'
import { NodeFleet } from '../media-nodes/node-fleet.service.js'
import { NodeLaunchService } from '../media-nodes/node-launch.service.js'
import { NodeUsage } from '../media-nodes/node-usage.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { AutoscalingService } from './autoscaling.service.js'
import { NodeRequestRepository } from './node-request.repository.js'

const INTERVAL_S = 120
const config = {
  ...{ SERVICE_CDR: false, SERVICE_WEBHOOK: false, SERVICE_EDITION: 'pro', SERVICE_PRO_CLUSTER_ID: 'test-cluster' },
  ...{ SERVICE_PRO_CLUSTER_AUTOSCALING: true, SERVICE_PRO_CLUSTER_AUTOSCALING_INTERVAL: INTERVAL_S },
  ...{ SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: 1, SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES: 2 },
  ...{ SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD: 20, SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD: 70 },
  ...{ SERVICE_PRO_CLUSTER_AUTOSCALING_COOLDOWN: 0 },
  ...{ SERVICE_PRO_CLUSTER_LAUNCH_TIME: 60, SERVICE_PRO_CLUSTER_LAUNCH_TIMEOUT: 60 },
} as MasterConfig

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
})
afterAll(() => close())

it('K14: delays the next launch after failed ones whose rows are deleted before the next decision', async () => {
  const clock = new ClusterClock()
  const repository = new MediaNodeRepository(dataSource, new EventLog(dataSource, config), clock, config)
  let known: MediaNodeRow[] = []
  let launched = 0
  const launch: NodeDriver['launch'] = () => {
    launched++
    return Promise.reject(new Error('no machine'))
  }
  const driver: NodeDriver = {
    ...{ environment: 'process', startsNodes: true, sharesMachine: true, launch },
    drop: () => Promise.resolve(),
  }
  const directory: Pick<MediaNodesService, 'rows' | 'live' | 'update'> = {
    rows: () => known,
    live: () => [],
    update: () => undefined,
  }
  const mediaNodes = directory as MediaNodesService
  const launches = new NodeLaunchService(mediaNodes, repository, clock, driver, config)
  const fleet = new NodeFleet(mediaNodes, repository, new NodeUsage(dataSource), launches)
  const requests = new NodeRequestRepository(dataSource)
  const driven = { of: () => undefined } as unknown as DrivenNodesService
  const commands = {} as NodeCommands
  const lower = [mediaNodes, commands, fleet, requests, launches, driven, clock] as const
  const service = new AutoscalingService(...lower, driver, config)
  const attempts: number[] = []
  for (let nth = 0; nth <= 10; nth++) {
    const before = launched
    const now = nth * INTERVAL_S * 1_000
    await service.run({ now, isStopping: () => false, assertLeader: () => Promise.resolve() })
    // Waits for the launch.
    await service.onModuleDestroy()
    if (launched > before) attempts.push(nth)
    known = await repository.all()
    service.sample()
    await database.query(`DELETE FROM media_node WHERE status = 'failed'`)
  }
  // A decision learns of the failures before it: the delays begin with the decision after the third one.
  expect(attempts).toEqual([0, 1, 2, 5, 10])
})
