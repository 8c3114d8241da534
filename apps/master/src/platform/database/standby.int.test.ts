import { createTestDatabase, TcpProxy, type TestDatabase, until } from '@session-service/testing'
import { isReadOnlyDatabase } from '@session-service/server-kit'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { LeaderLease } from '../jobs/leader-lease.js'
import { createDataSource, poolOf } from './data-source.js'
import { execute, firstRow } from './sql.js'

jest.setTimeout(60_000)

let database: TestDatabase
let proxy: TcpProxy
let source: DataSource
beforeAll(async () => {
  database = await createTestDatabase({ ownServer: true })
  await database.query('CREATE TABLE item (id int)')
  await database.query('CREATE UNLOGGED TABLE recent_item (id int)')
  const standby = await database.addStandby()
  proxy = await TcpProxy.open({ host: '127.0.0.1', port: standby.port })
  source = await createDataSource(proxy.via(database.url), [], () => undefined).initialize()
})
afterAll(async () => {
  await source.destroy()
  await proxy.close()
  await database.drop()
})

const write = (): Promise<unknown> => execute(source, 'INSERT INTO item VALUES (1)')
const refusalOf = (work: Promise<unknown>): Promise<boolean> => work.then(() => false, isReadOnlyDatabase)

it('reads from a standby, which gives no lease and whose clients are replaced once per second at most', async () => {
  const [before, startedAt] = [proxy.taken, performance.now()]
  expect(await firstRow(source, 'SELECT count(*)::int AS items FROM item')).toEqual({ items: 0 })
  expect(await refusalOf(execute(source, 'SELECT FROM recent_item'))).toBe(true)
  expect(await new LeaderLease(source).acquire()).toBe(false)
  for (let count = 0; count < 100; count += 1) expect(await refusalOf(write())).toBe(true)
  const seconds = (performance.now() - startedAt) / 1_000
  // One call at a time uses one client.
  expect(proxy.taken - before).toBeLessThanOrEqual(1 + Math.floor(seconds))
})

it('leaves the standby when new connections lead to a primary, while the standby keeps the old ones open', async () => {
  const idle = await Promise.all(Array.from({ length: 4 }, () => poolOf(source).connect()))
  for (const client of idle) client.release()
  proxy.target = { host: '127.0.0.1', port: Number(new URL(database.url).port) }
  await until('a write is accepted', async () => !(await refusalOf(write())))
  const answers = await Promise.all(Array.from({ length: 8 }, () => refusalOf(write())))
  expect(answers).toEqual(Array(8).fill(false))
  const lease = new LeaderLease(source)
  expect(await lease.acquire()).toBe(true)
  await lease.release()
})
