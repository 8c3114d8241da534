import { createTestDatabase, type TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { DataSource, QueryRunner } from 'typeorm'
import { createDataSource } from './data-source.js'
import { keepOwnBackends, refuseTransactionPooling } from './pooler.js'

let database: TestDatabase
let source: DataSource
const runners: QueryRunner[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  source = await createDataSource(database.url, [], () => undefined).initialize()
  runners.push(...[1, 2, 3].map(() => source.createQueryRunner()))
})
afterAll(async () => {
  await Promise.all(runners.map((runner) => runner.release()))
  await source.destroy()
  await database.drop()
})

/** Runs each query on the next of the runners, as a pooler in transaction mode may. */
function pooled(...on: readonly QueryRunner[]): Pick<QueryRunner['manager'], 'query'> {
  let next = 0
  return { query: (sql, values) => on[next++ % on.length]!.manager.query(sql, values) }
}

describe('a pooler in transaction mode', () => {
  it('is not assumed where connections lead to Postgres', async () => {
    await expect(refuseTransactionPooling(source)).resolves.toBeUndefined()
  })

  it('is found by connections that share a server process, and by a connection that changes it', async () => {
    const [one, other, third] = runners as [QueryRunner, QueryRunner, QueryRunner]
    expect(await keepOwnBackends(one.manager, other.manager)).toBe(true)
    expect(await keepOwnBackends(one.manager, one.manager)).toBe(false)
    expect(await keepOwnBackends(pooled(one, other), third.manager)).toBe(false)
    expect(await keepOwnBackends(third.manager, pooled(one, other))).toBe(false)
  })
})
