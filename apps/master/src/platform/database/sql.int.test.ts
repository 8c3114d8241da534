import { createTestDatabase, type TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { createDataSource } from './data-source.js'
import { execute, firstRow, rows } from './sql.js'

interface Fruit {
  id: number
  name: string
}

let database: TestDatabase
let dataSource: DataSource

beforeAll(async () => {
  database = await createTestDatabase()
  dataSource = await createDataSource(database.url, [], () => undefined).initialize()
  await execute(dataSource, 'CREATE TABLE fruit (id integer PRIMARY KEY, name text NOT NULL)')
})

beforeEach(async () => {
  await execute(dataSource, 'TRUNCATE fruit')
  await execute(dataSource, `INSERT INTO fruit VALUES (1, 'apple'), (2, 'pear')`)
})

afterAll(async () => {
  await dataSource.destroy()
  await database.drop()
})

describe('a hand-written statement', () => {
  it('gives the rows of a SELECT', async () => {
    expect(await rows<Fruit>(dataSource, 'SELECT * FROM fruit WHERE id <= $1 ORDER BY id', [2])).toEqual([
      { id: 1, name: 'apple' },
      { id: 2, name: 'pear' },
    ])
  })

  it.each([
    ['INSERT', `INSERT INTO fruit VALUES (3, 'plum') RETURNING id`, [{ id: 3 }]],
    ['UPDATE', `UPDATE fruit SET name = 'plum' WHERE id = 1 RETURNING id`, [{ id: 1 }]],
    ['DELETE', 'DELETE FROM fruit WHERE id = 2 RETURNING id', [{ id: 2 }]],
  ])('gives the rows that an %s returns', async (_, sql, expected) => {
    expect(await dataSource.transaction((manager) => rows<Pick<Fruit, 'id'>>(manager, sql))).toEqual(expected)
  })

  it('gives the first row, or undefined if there is none', async () => {
    expect(await firstRow<Fruit>(dataSource, 'SELECT * FROM fruit ORDER BY id')).toEqual({ id: 1, name: 'apple' })
    expect(await firstRow<Fruit>(dataSource, 'SELECT * FROM fruit WHERE id = 9')).toBeUndefined()
  })

  it('gives the number of rows that an UPDATE or a DELETE changed', async () => {
    expect(await execute(dataSource, `UPDATE fruit SET name = ''`)).toBe(2)
    expect(await execute(dataSource, 'DELETE FROM fruit WHERE id = 1')).toBe(1)
    expect(await execute(dataSource, 'DELETE FROM fruit WHERE id = 1')).toBe(0)
  })
})
