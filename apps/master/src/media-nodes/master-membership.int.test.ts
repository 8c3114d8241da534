import { Heartbeat, HEARTBEAT_INTERVAL_MS, MasterDead, RESTING_INTERVAL_MS, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { type LocalNats, startNats, TcpProxy, type TestDatabase, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { DiscoveryModule, DiscoveryService, NestFactory } from '@nestjs/core'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { firstRow } from '../platform/database/sql.js'
import { type PeriodicRows, periodicStatement } from '../platform/jobs/periodic-read.js'
import { MasterMembership } from './master-membership.js'
import { MediaNodeRepository } from './media-node.repository.js'
import { MediaNodesService } from './media-nodes.service.js'

const config = { SERVICE_PUBLICURL: 'http://master', SERVICE_EDITION: 'pro' } as MasterConfig

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let nats: LocalNats
let wire: TcpProxy
/** The bus of the master, through `wire`, and the bus of a media node. */
let buses: [Bus, Bus]
let mediaNodes: MediaNodesService
let membership: MasterMembership
let discovery: Awaited<ReturnType<typeof NestFactory.createApplicationContext>>

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  nats = await startNats()
  const { hostname, port } = new URL(nats.url)
  wire = await TcpProxy.open({ host: hostname, port: Number(port) })
  buses = [
    await Bus.connect({ servers: wire.via(nats.url), name: 'master' }),
    await Bus.connect({ servers: nats.url, name: 'node' }),
  ]
  discovery = await NestFactory.createApplicationContext(DiscoveryModule, { logger: false })
  const clock = new ClusterClock()
  const repository = new MediaNodeRepository(dataSource, new EventLog(dataSource, config), clock, config)
  mediaNodes = new MediaNodesService(buses[0], repository, clock, discovery.get(DiscoveryService))
  membership = new MasterMembership(dataSource, buses[0], mediaNodes, config, 'one')
  await database.query(`INSERT INTO media_node (id, status, boot_id, launching_time, connection_time)
    VALUES ('north', 'running', 'boot', 1, 1)`)
})
afterAll(async () => {
  await mediaNodes?.onApplicationShutdown()
  await Promise.all((buses ?? []).map((bus) => bus.close()))
  await wire?.close()
  await nats?.stop()
  await discovery?.close()
  await close?.()
})

async function renew(): Promise<void> {
  const { values, done } = membership.report()
  const row = await firstRow<PeriodicRows>(dataSource, periodicStatement(membership.renewal, []), values)
  if (!row) throw new Error('no row')
  done(row.renewed)
  await mediaNodes.refresh()
}
const heardAt = async (): Promise<number> =>
  Number((await database.query('SELECT heard_at FROM media_node'))[0]?.heard_at)
const nodesHeard = async (): Promise<unknown> =>
  (await database.query(`SELECT nodes_heard FROM master WHERE id = 'one'`))[0]?.nodes_heard

it('a dead master is removed and notified, one that is alive stays', async () => {
  const notified: string[] = []
  for (const id of ['alive', 'dead', 'early'])
    buses[1].subscribe(SUBJECT.masterDead(id), MasterDead, () => void notified.push(id))
  await buses[1].flush()
  await database.query(`INSERT INTO master (id, alive_at) VALUES ('alive', now()), ('dead', now() - interval '6 s'),
    ('early', now() + interval '1 hour')`)
  await membership.removeDeadMasters()
  await until('both are notified', () => notified.length === 2)
  expect(notified.toSorted()).toEqual(['dead', 'early'])
  expect(await database.query('SELECT id FROM master')).toEqual([{ id: 'alive' }])
  await database.query('DELETE FROM master')
})

it('a row that was removed gets the generation again that its master serves', async () => {
  const generation = async (): Promise<unknown> =>
    (await database.query(`SELECT generation::int FROM master WHERE id = 'one'`))[0]?.generation
  await renew()
  expect(await generation()).toBeNull()
  await database.query('UPDATE master SET generation = 6')
  await renew()
  expect(await generation()).toBe(6)
  membership.serves(7)
  await database.query('DELETE FROM master')
  await renew()
  expect(await generation()).toBe(7)
})

function beat(everyMs = HEARTBEAT_INTERVAL_MS): void {
  const load = { cpuLoad: 0, memoryBytes: 1, workers: 1, rooms: 0, connections: 0, streams: 0, consumers: 0 }
  const heartbeat = { nodeId: 'north', bootId: 'boot', sentAt: 1, ip: '', status: 'running' as const, everyMs, ...load }
  buses[1].publish(SUBJECT.heartbeat('north'), Heartbeat, heartbeat)
}

it('a media node that begins to rest is written with its longer interval at once', async () => {
  const interval = async (): Promise<unknown> =>
    (await database.query('SELECT heartbeat_interval FROM media_node'))[0]?.heartbeat_interval
  beat()
  await until('the master receives heartbeats of the node', () => mediaNodes.lastHeartbeats().length === 1)
  await renew()
  expect([await interval(), mediaNodes.areResting]).toEqual([HEARTBEAT_INTERVAL_MS, false])
  beat(RESTING_INTERVAL_MS)
  await until('the interval is written', async () => {
    await renew()
    return (await interval()) === RESTING_INTERVAL_MS
  })
  expect(mediaNodes.areResting).toBe(true)
})

it('a master that is cut off from the bus reports that it receives no heartbeats, and writes none over later ones', async () => {
  await until('the master receives heartbeats of the node', async () => {
    beat()
    await renew()
    return (await nodesHeard()) === 1
  })
  expect(await heardAt()).toBeGreaterThan(0)

  wire.mode = 'reset'
  await until('the master has lost the bus', () => !buses[0].connected)
  await database.query(`INSERT INTO master (id, alive_at, nodes_heard) VALUES ('two', now(), 1)`)
  await renew()
  expect(await nodesHeard()).toBe(0)
  // It cannot know whether it is on the smaller side of a split bus.
  expect(membership.hasQuorum).toBe(true)

  await until('the node is silent for long', () => mediaNodes.lastHeartbeats().length === 0)
  expect(mediaNodes.live()).toHaveLength(1)
  // As by another master, later than any difference that a statement takes for a step of the clock.
  const later = (await heardAt()) + 60_000
  await database.query('UPDATE media_node SET heard_at = $1', [later])
  await renew()
  expect(await heardAt()).toBe(later)
})
