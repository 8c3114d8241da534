import { createTestDatabase, type TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { dueJobs } from './due-jobs.js'
import type { RegisteredJob } from './job-registry.js'

let database: TestDatabase
let source: DataSource

beforeAll(async () => {
  database = await createTestDatabase()
  source = await new DataSource({ type: 'postgres', url: database.url }).initialize()
  await source.query('CREATE TABLE work (kind text)')
})
afterAll(async () => {
  await source?.destroy()
  await database?.drop()
})

const job = (name: string, due?: string): RegisteredJob => ({
  name,
  scope: 'leader',
  everyMs: 0,
  run: () => Promise.resolve(),
  ...(due !== undefined && { due }),
})
const of = (kind: string): string => `SELECT 1 FROM work WHERE kind = '${kind}'`

it('chooses the jobs that have work, and those that do not declare theirs, in their order', async () => {
  const jobs = [job('a', of('a')), job('always'), job('b', `${of('b')} UNION ALL ${of('c')}`), job('d', of('d'))]
  const names = async (): Promise<string[]> => (await dueJobs(source, jobs)).map(({ name }) => name)
  expect(await names()).toEqual(['always'])
  await source.query(`INSERT INTO work VALUES ('c')`)
  expect(await names()).toEqual(['always', 'b'])
  await source.query(`INSERT INTO work VALUES ('a'), ('a'), ('d')`)
  expect(await names()).toEqual(['a', 'always', 'b', 'd'])
})

it('reads nothing when no job declares its work', async () => {
  const closed = { query: () => Promise.reject(new Error('the database is unreachable')) }
  expect(await dueJobs(closed, [job('always')])).toHaveLength(1)
  await expect(dueJobs(closed, [job('a', of('a'))])).rejects.toThrow('unreachable')
})
