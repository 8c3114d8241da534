import { stdSerializers } from 'pino'

const MASK = '***'
const SECRET_KEY = /(token|secret|password|passwd|credential|authorization|resumekey|cookie)$/i
const MAX_DEPTH = 6
/** Codes of Postgres whose `detail` has the whole row: a null value, and a violated check. */
const ROW_VIOLATIONS = new Set<unknown>(['23502', '23514'])

/** Secrets within a text: a password in a URL, a token, a secret query parameter. */
const SECRET_TEXT: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // Without the scheme: each letter of a long word would begin a search for its end.
  [/(:\/\/[^\s:/?#@]*):[^\s/?#@]*(?:@[^\s/?#@",]*)*@/g, `$1:${MASK}@`],
  [/\btok_[A-Za-z0-9_-]+/g, `tok_${MASK}`],
  [/\b(token|secret|password|resumeKey|authorization)=[^&\s"']+/gi, `$1=${MASK}`],
]

export const redactText = (text: string): string =>
  SECRET_TEXT.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text)

const hasToJson = (value: object): value is { toJSON(): unknown } =>
  'toJSON' in value && typeof value.toJSON === 'function'

function redactObject(value: object, depth: number): unknown {
  if (value instanceof Error) return redactEntries(stdSerializers.err(value), depth)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? '[array]' : '[object]'
  if (hasToJson(value)) return redact(value.toJSON(), depth + 1)
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1))
  return redactEntries(value, depth)
}

function redactEntries(value: object, depth: number): Record<string, unknown> {
  const isFailure = 'stack' in value
  const shown = (key: string, item: unknown): unknown => {
    if (SECRET_KEY.test(key) && item != null && item !== '') return MASK
    return (isFailure ? withoutData(value, key, item) : undefined) ?? redact(item, depth + 1)
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shown(key, item)]))
}

/** The replacement of a member of an error that has data of users: the values of an SQL statement, and a row of a table. */
function withoutData(error: object, key: string, item: unknown): string | undefined {
  if (key === 'parameters' && Array.isArray(item)) return `[${item.length} values]`
  if (key === 'detail' && 'code' in error && ROW_VIOLATIONS.has(error.code)) return '[row]'
  return undefined
}

/**
 * A copy for logging, at most six levels deep: secrets are masked by name and by pattern, errors keep their stack, without
 * the values of an SQL statement.
 */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return value.toString()
  return typeof value === 'object' && value !== null ? redactObject(value, depth) : value
}
