import type { EntityManager } from 'typeorm'

/** The rows of an UPDATE or DELETE … RETURNING, which TypeORM gives as [rows, count]. */
export async function updated<Row>(manager: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  const [rows] = await manager.query<[Row[], number]>(sql, values)
  return rows
}
