import { ServiceError } from '@session-service/contract'

/** Translates an error of a library; undefined for any other error. */
export type ErrorTranslator = (error: unknown) => ServiceError | undefined

/**
 * SQLSTATE: connection lost, out of resources, shutting down, failure of a disk or the system, statement or lock timed
 * out, deadlock or another conflict of transactions, which are rolled back and may be retried.
 */
const SQLSTATE_UNAVAILABLE = /^(08...|53...|580[03]0|55P03|57P0[1-3]|57014|40P01|40001)$/
/** SQLSTATE: a byte sequence or a JSON escape, such as NUL, that text cannot hold. A schema should reject it before. */
const SQLSTATE_BAD_TEXT: ReadonlySet<string> = new Set(['22021', '22P05'])
const SOCKET_UNAVAILABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
/** Messages of errors without a code: of the driver, and of TypeORM when a connection is lost within a transaction. */
const DRIVER_UNAVAILABLE =
  /connection terminated|query ?runner.*already released|timeout exceeded when trying to connect|query read timeout|not queryable|cannot use a pool after calling end|client was closed/i

/**
 * SQLSTATE with many reasons, of which this routine of the server has one: a standby reads no unlogged tables. The
 * messages are in the language of the server.
 */
const FEATURE_NOT_SUPPORTED = '0A000'
const UNLOGGED_ON_STANDBY = 'get_relation_info'
const READ_ONLY_TRANSACTION = '25006'

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** The error and its causes, five levels at most. */
function* withCauses(error: unknown): Generator<object> {
  let current = error
  for (let depth = 0; depth < 5 && isObject(current); depth += 1) {
    yield current
    current =
      'driverError' in current && isObject(current.driverError)
        ? current.driverError
        : 'cause' in current
          ? current.cause
          : undefined
  }
}

const codeOf = (error: object): string => ('code' in error && typeof error.code === 'string' ? error.code : '')

function refusesWrites(error: object): boolean {
  const code = codeOf(error)
  if (code === READ_ONLY_TRANSACTION) return true
  return code === FEATURE_NOT_SUPPORTED && 'routine' in error && error.routine === UNLOGGED_ON_STANDBY
}

/** Whether a server failed a query because it is a standby, or is set to read-only. */
export const isReadOnlyDatabase = (error: unknown): boolean => [...withCauses(error)].some(refusesWrites)

function isUnavailable(error: object): boolean {
  const code = codeOf(error)
  if (refusesWrites(error) || SQLSTATE_UNAVAILABLE.test(code) || SOCKET_UNAVAILABLE.has(code)) return true
  return error instanceof Error && DRIVER_UNAVAILABLE.test(error.message)
}

/**
 * A database that cannot be reached or cannot answer is UNAVAILABLE, text that it cannot store is INVALID. Any other
 * error of the database is a bug of this service.
 */
export const translateDatabaseError: ErrorTranslator = (error) => {
  const causes = [...withCauses(error)]
  if (causes.some(isUnavailable))
    return new ServiceError('UNAVAILABLE', 'the database is not available', { cause: error })
  if (causes.some((cause) => SQLSTATE_BAD_TEXT.has(codeOf(cause))))
    return new ServiceError('INVALID', 'text must be well-formed and without NUL', { cause: error })
  return undefined
}
