import { createTestDatabase, TcpProxy, type TestDatabase, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { CircuitBreakerPool } from './circuit-breaker-pool.js'

let database: TestDatabase
let proxy: TcpProxy
let pool: CircuitBreakerPool
beforeAll(async () => {
  database = await createTestDatabase()
  const { hostname, port } = new URL(database.url)
  proxy = await TcpProxy.open({ host: hostname, port: Number(port) })
  pool = new CircuitBreakerPool({
    connectionString: proxy.via(database.url),
    max: 2,
    connectionTimeoutMillis: 60_000,
    query_timeout: 1_500,
  })
  pool.on('error', () => undefined)
})
afterAll(async () => {
  await pool.end()
  await proxy.close()
  await database.drop()
})

/** As TypeORM does it. */
async function ask(sql = 'SELECT 1 AS one'): Promise<unknown> {
  const client = await pool.connect()
  try {
    return (await client.query<{ one: number }>(sql)).rows[0]?.one
  } finally {
    client.release()
  }
}
const refusal = (work: Promise<unknown>): Promise<string> => work.then(String, (error: Error) => error.message)

it('lets everybody go with the first time-out when the server hangs, and takes them again once it answers', async () => {
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1])
  proxy.mode = 'hang'
  const hung = [ask(), ask()].map(refusal)
  // There is no client left for these: they would wait for a minute.
  const waiting = [ask(), ask(), ask()].map(refusal)
  expect(await Promise.all(hung)).toEqual(['Query read timeout', 'Query read timeout'])
  expect(await Promise.all(waiting)).toEqual(Array(3).fill('the database does not answer'))
  expect(await refusal(ask())).toBe('the database does not answer')
  await expect(pool.connect()).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await until('clients that hung are thrown away', () => pool.totalCount === 0)
  proxy.mode = 'pass'
  await until('it answers again', () => ask())
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1])
  expect(pool.totalCount).toBeLessThanOrEqual(2)
})

it('takes a statement that the server refuses for what it is', async () => {
  await expect(ask('SELECT 1/0')).rejects.toThrow('division by zero')
  expect(await ask()).toBe(1)
})
