import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { TestDatabase } from '@session-service/testing'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import type { LaunchedNode, NodeDriver } from './driver/node-driver.js'
import { MediaNodeRepository, type MediaNodeRow } from './media-node.repository.js'
import type { MediaNodesService } from './media-nodes.service.js'
import { NodeLaunchService } from './node-launch.service.js'

const config = {
  ...{ SERVICE_CDR: false, SERVICE_WEBHOOK: false, SERVICE_EDITION: 'pro' },
  SERVICE_PRO_CLUSTER_LAUNCH_TIMEOUT: 60,
} as MasterConfig
const launched: LaunchedNode = { environmentId: 'machine' }

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let repository: MediaNodeRepository
/** The rows as this master has read them. */
let known: MediaNodeRow[]
let dropped: string[]

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  repository = new MediaNodeRepository(dataSource, new EventLog(dataSource, config), new ClusterClock(), config)
})
afterAll(() => close())
beforeEach(async () => {
  await database.query('DELETE FROM media_node')
  ;[known, dropped] = [[], []]
})

/** With a driver that starts nodes by `launch`, and records which nodes it was to stop. */
function launches(launch: () => Promise<LaunchedNode> = () => Promise.resolve(launched)): NodeLaunchService {
  const mediaNodes = { rows: () => known, update: () => undefined } as unknown as MediaNodesService
  const driver: NodeDriver = {
    ...{ environment: 'process', startsNodes: true, sharesMachine: true, launch },
    drop: ({ id }) => Promise.resolve(void dropped.push(id)),
  }
  return new NodeLaunchService(mediaNodes, repository, new ClusterClock(), driver, config)
}
const announce = (id: string) => repository.change((change) => launches().announce(change, { id }))
/** The first heartbeat of the node has arrived at a master. */
const connects = (id: string) =>
  repository.change(async (change) => {
    const row = await repository.lock(change, id)
    return row && repository.setStatus(change, row, 'running', { bootId: `boot of ${id}` })
  })
/** A backend has removed the node. */
const isRemoved = (id: string) =>
  database.query(`UPDATE media_node SET status = 'terminated', disconnected_at = 1 WHERE id = $1`, [id])
const statusOf = async (id: string) => (await repository.find(id))?.status

describe('a launch that has timed out', () => {
  beforeEach(async () => {
    await announce('north')
    await database.query(`UPDATE media_node SET changed_at = now() - interval '61 s'`)
    known = await repository.all()
  })

  it('fails, and its node is stopped', async () => {
    await launches().upkeep()
    expect([await statusOf('north'), dropped]).toEqual(['failed', ['north']])
  })

  it('does not stop a node whose first heartbeat has arrived after this master had read its row', async () => {
    await connects('north')
    await launches().upkeep()
    expect([await statusOf('north'), dropped]).toEqual(['running', []])
  })

  it('ends after its node was stopped when it was canceled', async () => {
    await database.query(`UPDATE media_node SET status = 'canceled'`)
    known = await repository.all()
    await launches().upkeep()
    expect([await statusOf('north'), dropped]).toEqual(['terminated', ['north']])
  })
})

describe('a node that the driver starts', () => {
  beforeEach(() => announce('north'))

  it('is stopped when it was removed before it had started', async () => {
    const start = launches(async () => {
      await isRemoved('north')
      return launched
    }).start({ id: 'north' })
    await expect(start).rejects.toMatchObject({ code: 'CONFLICT' })
    expect([await statusOf('north'), dropped]).toEqual(['terminated', ['north']])
  })

  it('is stopped when the driver rejects', async () => {
    const start = launches(() => Promise.reject(new Error('no answer'))).start({ id: 'north' })
    await expect(start).rejects.toMatchObject({ code: 'LAUNCH_FAILED' })
    expect([await statusOf('north'), dropped]).toEqual(['failed', ['north']])
  })

  it('goes on when an earlier launch has started it and a repeated one fails', async () => {
    const start = launches(async () => {
      await connects('north')
      throw new Error('no answer')
    }).start({ id: 'north' })
    await expect(start).rejects.toMatchObject({ code: 'LAUNCH_FAILED' })
    expect([await statusOf('north'), dropped]).toEqual(['running', []])
  })
})
