import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { rows } from '../platform/database/sql.js'
import { insertSession } from '../sessions/fixtures/rows.js'
import { ConnectionRepository } from './connection.repository.js'

/** Postgres may keep the plan of a prepared statement after five executions. */
const EXECUTIONS = 7

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let connections: ConnectionRepository

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  connections = new ConnectionRepository(dataSource)
})
afterAll(() => close())

const insert = (id: string, sessionId: string): Promise<true> =>
  connections.insert({
    ...{ id, sessionId, createdAt: 1, serverData: '', record: true, role: 'PUBLISHER', mediaserverOptions: null },
    ...{ iceServers: [], tokenNonce: `nonce ${id}`, tokenHash: Buffer.from(id).toString('hex'), traceContext: null },
  })

it('connections are inserted by a plan that suits many sessions, also when it was made for one', async () => {
  await insertSession(database, 'ses')
  for (let nth = 0; nth < EXECUTIONS; nth++) await insert(`con_${nth}`, 'ses')
  // One query after another uses the same connection to the database.
  const [statement] = await rows<{ name: string; generic: string }>(
    dataSource.manager,
    `SELECT name, generic_plans AS generic FROM pg_prepared_statements WHERE statement LIKE '%INSERT INTO connection%'`,
  )
  expect(Number(statement?.generic)).toBeGreaterThan(0)
  const plan = await rows<object>(dataSource.manager, `EXPLAIN EXECUTE "${statement?.name}"('[]')`)
  expect(JSON.stringify(plan)).toContain('Index Scan using session_pk on session')
  expect(JSON.stringify(plan)).not.toContain('Seq Scan')
})

it('a connection of a session that does not exist is refused, and the others of its group are inserted', async () => {
  await insertSession(database, 'present')
  const group = [insert('con_one', 'present'), insert('con_two', 'absent'), insert('con_three', 'present')]
  expect(await Promise.allSettled(group)).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { code: 'NOT_FOUND' } },
    { status: 'fulfilled' },
  ])
})
