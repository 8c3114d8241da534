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

/** Uses a client as TypeORM does. */
async function query(sql = 'SELECT 1 AS one'): Promise<unknown> {
  const client = await pool.connect()
  try {
    return (await client.query<{ one: number }>(sql)).rows[0]?.one
  } finally {
    client.release()
  }
}
const messageOf = (work: Promise<unknown>): Promise<string> => work.then(String, (error: Error) => error.message)

it('rejects all callers at the first time-out when the server hangs, and accepts them when it answers again', async () => {
  expect(await Promise.all([query(), query(), query()])).toEqual([1, 1, 1])
  proxy.mode = 'hang'
  const hung = [query(), query()].map(messageOf)
  // No client is free for these: without the circuit breaker they would wait for a minute.
  const waiting = [query(), query(), query()].map(messageOf)
  expect(await Promise.all(hung)).toEqual(['Query read timeout', 'Query read timeout'])
  expect(await Promise.all(waiting)).toEqual(Array(3).fill('the database does not answer'))
  expect(await messageOf(query())).toBe('the database does not answer')
  await expect(pool.connect()).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await until('clients that hung are destroyed', () => pool.totalCount === 0)
  proxy.mode = 'pass'
  await until('it answers again', () => query())
  expect(await Promise.all([query(), query(), query()])).toEqual([1, 1, 1])
  expect(pool.totalCount).toBeLessThanOrEqual(2)
})

it('stays closed when the server rejects a statement', async () => {
  await expect(query('SELECT 1/0')).rejects.toThrow('division by zero')
  expect(await query()).toBe(1)
  expect(pool.refusesWrites).toBe(false)
})

it('knows from a failed write that the disk of the server is full', async () => {
  await expect(query(`DO $$ BEGIN RAISE 'no space left' USING ERRCODE = 'disk_full'; END $$`)).rejects.toThrow()
  expect(pool.refusesWrites).toBe(true)
})

it('replaces all clients after one time-out when the machine behind them is gone, and new ones are answered', async () => {
  const clients = await Promise.all([pool.connect(), pool.connect()])
  for (const client of clients) client.release()
  proxy.strand()
  const answers: string[] = []
  await until('a new client is answered', async () => {
    answers.push(await messageOf(query()))
    return answers.at(-1) === '1'
  })
  expect(answers.filter((answer) => answer === 'Query read timeout')).toHaveLength(1)
})

it('rejects only the request that waits too long for a client, while the server answers others', async () => {
  const busy = new CircuitBreakerPool({ connectionString: database.url, max: 1, connectionTimeoutMillis: 500 })
  const holder = await busy.connect()
  const work = { isOver: false }
  const working = (async () => {
    while (!work.isOver) await holder.query('SELECT 1')
  })()
  expect(await messageOf(busy.connect())).toBe('timeout exceeded when trying to connect')
  const next = busy.connect()
  work.isOver = true
  await working
  holder.release()
  const client = await next
  expect(client).toBe(holder)
  client.release()
  await busy.end()
})
