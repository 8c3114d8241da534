import { afterAll, afterEach, expect, it } from '@jest/globals'
import { createTestDatabase } from './test-database.js'

const opened: Awaited<ReturnType<typeof createTestDatabase>>[] = []
const { TEST_POSTGRES_TEMPLATE: givenTemplate } = process.env
afterEach(() => {
  delete process.env.TEST_POSTGRES_TEMPLATE
  if (givenTemplate !== undefined) process.env.TEST_POSTGRES_TEMPLATE = givenTemplate
})
afterAll(() => Promise.all(opened.map((database) => database.drop())))

const create = async (options?: Parameters<typeof createTestDatabase>[0]) => {
  const database = await createTestDatabase(options)
  opened.push(database)
  return database
}

it('creates empty and separate databases', async () => {
  const [one, other] = [await create(), await create()]
  await one.query('CREATE TABLE thing (id int)')
  const tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
  expect(await one.query(tables)).toEqual([{ tablename: 'thing' }])
  expect(await other.query(tables)).toEqual([])
})

it('copies the template of the same server for masters, each copy being a cluster of its own', async () => {
  const template = await create()
  await template.query('CREATE TABLE cluster AS SELECT gen_random_uuid() AS id')
  process.env.TEST_POSTGRES_TEMPLATE = template.url
  const copies = [await create({ isForMasters: true }), await create({ isForMasters: true })]
  const found = await Promise.all([template, ...copies].map((database) => database.query('SELECT id FROM cluster')))
  expect(new Set(found.map((rows) => rows[0]?.id)).size).toBe(3)
  const table = "SELECT to_regclass('cluster') AS present"
  expect(await (await create()).query(table)).toEqual([{ present: null }])
  process.env.TEST_POSTGRES_TEMPLATE = template.url.replace(/:\d+\//, ':1/')
  expect(await (await create({ isForMasters: true })).query(table)).toEqual([{ present: null }])
})

it('commits durably', async () => {
  const database = await create()
  const settings = await database.query(
    "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit')",
  )
  expect(settings).toEqual([
    { name: 'fsync', setting: 'on' },
    { name: 'synchronous_commit', setting: 'on' },
  ])
})

it('restarts a killed own server with its committed data', async () => {
  const database = await create({ ownServer: true })
  await database.query('CREATE TABLE thing AS SELECT 7 AS id')
  const before = database.server?.pid
  database.server?.process.kill('SIGKILL')
  await database.server?.process.exited
  await expect(database.query('SELECT 1')).rejects.toThrow('ECONNREFUSED')
  await database.restartServer()
  expect(await database.query('SELECT id FROM thing')).toEqual([{ id: 7 }])
  expect(database.server?.pid).not.toBe(before)
})
