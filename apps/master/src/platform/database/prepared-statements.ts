import { createHash } from 'node:crypto'
import { DatabaseError, type QueryConfig } from 'pg'

/** Postgres cuts longer names off. */
const NAME_LENGTH = 32
/** SQLSTATE; messages are in the language of the server. */
const FEATURE_NOT_SUPPORTED = '0A000'

/** By the texts of the statements. */
const names = new Map<string, string>()

/**
 * Lets each connection prepare the statement with its first use: Postgres then parses it once, and plans it only while
 * that pays. For frequent statements
 * - with a constant text that names its columns, because a prepared statement fails when the columns of its answer change;
 * - that find rows of growing tables one by one, by an equality: the plan stays the one for the size of the tables at the
 *   first uses until Postgres analyzes them, and any other plan for a few rows reads them all.
 */
export function prepared(sql: string): string {
  names.set(sql, createHash('sha256').update(sql).digest('base64url').slice(0, NAME_LENGTH))
  return sql
}

/** The statement with its name; undefined for one that is not prepared. */
export function withName(text: unknown, values: unknown): QueryConfig | undefined {
  const name = typeof text === 'string' ? names.get(text) : undefined
  if (name === undefined) return undefined
  return { name, text: text as string, values: Array.isArray(values) ? values : [] }
}

/** Whether the columns of a prepared statement have changed: it fails on its connection from then on. */
export const isOutdated = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === FEATURE_NOT_SUPPORTED && error.routine === 'RevalidateCachedQuery'
