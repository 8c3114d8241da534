import { ServiceError } from '@session-service/contract'
import type { DataSource } from 'typeorm'
import { firstRow, type Queryable } from './sql.js'

/** Refuses a pooler in transaction mode: the lock that makes one master the leader would belong to several. */
export async function refuseTransactionPooling(dataSource: DataSource): Promise<void> {
  const [one, other] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()]
  try {
    if (await keepOwnBackends(one.manager, other.manager)) return
  } finally {
    await Promise.all([one.release(), other.release()])
  }
  throw new ServiceError(
    'UNAVAILABLE',
    'DATABASE_URL leads to a pooler in transaction mode: use its session mode, or connect to Postgres directly',
  )
}

/** Whether two open connections have a server process each, in every transaction the same one. */
export async function keepOwnBackends(one: Queryable, other: Queryable): Promise<boolean> {
  const pids: (number | undefined)[] = []
  // One after another: a pooler gives a server process that is free to the next transaction.
  for (const connection of [one, other, one, other]) pids.push(await backendOf(connection))
  const [first, second, third, fourth] = pids
  return first !== second && first === third && second === fourth
}

const backendOf = async (connection: Queryable): Promise<number | undefined> =>
  (await firstRow<{ pid: number }>(connection, 'SELECT pg_backend_pid() AS pid'))?.pid
