import { isReadOnlyDatabase } from '@session-service/server-kit'
import { QueryFailedError } from 'typeorm'

const sqlState = (error: unknown): string | undefined => {
  const driver: unknown = error instanceof QueryFailedError ? error.driverError : error
  if (typeof driver !== 'object' || driver === null || !('code' in driver)) return undefined
  return typeof driver.code === 'string' ? driver.code : undefined
}

/** The driver's errors when a server accepts connections and does not answer. */
export const NO_ANSWER = /query read timeout|timeout exceeded when trying to connect|due to connection timeout/i

/** SQLSTATEs by their first characters, the longest first. */
const CLASSES = [
  ['57014', 'timeout'],
  ['55P03', 'lock'],
  ['25P03', 'timeout'],
  ['40', 'conflict'],
  ['22', 'data'],
  ['23', 'constraint'],
  ['53', 'resources'],
  ['58', 'resources'],
  ['08', 'connection'],
  ['57', 'connection'],
] as const
const READ_ONLY = 'read-only' as const
export const ERROR_CLASSES = [...new Set([READ_ONLY, ...CLASSES.map(([, name]) => name)])]

/** The class of a failed query, for metrics; `other` for a mistake in a statement, for example. */
export function errorClass(error: unknown): (typeof ERROR_CLASSES)[number] | 'other' {
  if (isReadOnlyDatabase(error)) return READ_ONLY
  const state = sqlState(error) ?? ''
  const known = CLASSES.find(([prefix]) => state.startsWith(prefix))?.[1]
  if (known) return known
  const message = error instanceof Error ? error.message : ''
  if (NO_ANSWER.test(message)) return 'timeout'
  return /^E[A-Z]+$/.test(state) || /connection/i.test(message) ? 'connection' : 'other'
}

/** Whether a query failed because the server accepts no writes: it is read-only, or its disk is full or does not work. */
export const isWriteRefusal = (error: unknown): boolean =>
  isReadOnlyDatabase(error) || ['53100', '58030'].includes(sqlState(error) ?? '')

/** Whether the items of a failed batch may succeed one by one: one of them is invalid, or the batch met a deadlock. */
export const isBatchFault = (error: unknown): boolean => ['data', 'constraint', 'conflict'].includes(errorClass(error))

/** As `isBatchFault`, for a batch that locks several rows: one that is locked for too long fails only its own items. */
export const isLockingBatchFault = (error: unknown): boolean => isBatchFault(error) || errorClass(error) === 'lock'
