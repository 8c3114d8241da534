import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { TestDatabase } from '@session-service/testing'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import { MediaNodeRepository, type MediaNodeRow } from '../media-nodes/media-node.repository.js'
import type { NodeDriver } from '../media-nodes/driver/node-driver.js'
import type { MasterMembership } from '../media-nodes/master-membership.js'
import type { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { NodeFailureHandler } from './node-failure-handler.service.js'

const config = {
  ...{ SERVICE_CDR: false, SERVICE_WEBHOOK: false, SERVICE_EDITION: 'pro' },
  SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT: 3,
} as MasterConfig

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let repository: MediaNodeRepository
/** The row of a node that was lost longer ago than the timeout. */
let lost: MediaNodeRow

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  repository = new MediaNodeRepository(dataSource, new EventLog(dataSource, config), new ClusterClock(), config)
})
afterAll(() => close())
beforeEach(async () => {
  await database.query('DELETE FROM media_node')
  await database.query(
    `INSERT INTO media_node (id, status, launching_time, boot_id, disconnected_at) VALUES ('north', 'running', 1, 'boot', 2)`,
  )
  const row = await repository.find('north')
  if (!row) throw new Error('the row was not inserted')
  lost = row
})

const statusOf = async (id: string) => (await repository.find(id))?.status

function handlerWith(mediaNodes: object, membership: object, driver: object): NodeFailureHandler {
  const unused = undefined as never
  return new NodeFailureHandler(
    unused,
    mediaNodes as MediaNodesService,
    repository,
    ...([unused, unused, unused, unused, new ClusterClock()] as const),
    membership as MasterMembership,
    driver as NodeDriver,
    config,
  )
}

/** Terminates the lost node. Gives the statuses of the node when the driver was to stop it. */
async function terminateLost(fails = false): Promise<(string | undefined)[]> {
  const statuses: (string | undefined)[] = []
  const driver = {
    startsNodes: true,
    drop: async ({ id }: { id: string }) => {
      statuses.push(await statusOf(id))
      if (fails) throw new Error('the environment does not answer')
    },
  }
  const handler = handlerWith({ update: () => undefined }, {}, driver)
  await handler.terminateLost(lost).catch((error: unknown) => expect(error).toEqual(expect.any(Error)))
  return statuses
}

it('a media node that has returned after a master read its row is not stopped', async () => {
  await repository.change(async (change) => {
    const row = await repository.lock(change, 'north')
    return row && repository.recover(change, row, {}, 10_000)
  })
  expect(await terminateLost()).toEqual([])
  expect(await statusOf('north')).toBe('running')
})

it('a lost media node is terminating before the driver stops it, so that it cannot return meanwhile', async () => {
  expect(await terminateLost()).toEqual(['terminating'])
  expect(await statusOf('north')).toBe('terminated')
})

it('a lost media node stays terminating while the driver cannot stop it', async () => {
  expect(await terminateLost(true)).toEqual(['terminating'])
  expect(await statusOf('north')).toBe('terminating')
})

it.each([
  ['running', true],
  ['waiting-idle-to-terminate', false],
  ['terminating', false],
] as const)('a lost media node that was %s ends, and counts as given up: %s', async (status, isGivenUp) => {
  await database.query('UPDATE media_node SET status = $1', [status])
  lost = { ...lost, status }
  await terminateLost()
  expect(await repository.find('north')).toMatchObject({ status: 'terminated', isGivenUp })
})

it.each([
  ['counts as lost', 'a master with quorum', true],
  ['does not count as lost', 'a master on the smaller side of a split bus', false],
])('a silent media node %s to %s', async (_what, _whom, hasQuorum) => {
  await database.query('UPDATE media_node SET disconnected_at = NULL')
  const mediaNodes = { update: () => undefined, isAlive: () => false }
  const handler = handlerWith(mediaNodes, { hasQuorum }, { startsNodes: false })
  await handler.handleSilent({ nodeId: 'north', bootId: 'boot' })
  await handler.onModuleDestroy()
  expect((await repository.find('north'))?.disconnectedAt !== null).toBe(hasQuorum)
})
