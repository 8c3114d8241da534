import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { MediaNodeRepository } from './media-node.repository.js'

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let repository: MediaNodeRepository

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  const config = { SERVICE_CDR: false, SERVICE_WEBHOOK: false, SERVICE_EDITION: 'pro' } as MasterConfig
  repository = new MediaNodeRepository(dataSource, new EventLog(dataSource, config), new ClusterClock(), config)
})
afterAll(() => close())

it('a media node that recovers counts as alive at masters that have not received its heartbeat yet', async () => {
  const [launchedAt, lostAt, recoveredAt] = [1_000, 20_000, 30_000]
  const details = { ip: '', uri: '', version: '', bootId: 'boot', connectionTime: launchedAt }
  await repository.change(async (change) => {
    const node = { id: 'north', environmentId: '', launchingTime: launchedAt, ...details }
    const entered = await repository.enter(change, node)
    if (!entered) throw new Error('the node was not inserted')
    return repository.setStatus(change, entered, 'running')
  })
  await database.query('UPDATE media_node SET heard_at = $1', [lostAt - 3_000])
  const crashed = await repository.change(async (change) => {
    const locked = await repository.lock(change, 'north')
    return locked && repository.crash(change, locked, lostAt)
  })
  expect(crashed).toMatchObject({ disconnectedAt: lostAt, lastHeartbeatAt: lostAt - 3_000 })
  const recovered = await repository.change(async (change) => {
    const locked = await repository.lock(change, 'north')
    return locked && repository.recover(change, locked, {}, recoveredAt)
  })
  expect(recovered).toMatchObject({ disconnectedAt: null, lastHeartbeatAt: recoveredAt })
})
