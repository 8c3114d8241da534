import { validateHeaderValue } from 'node:http'
import { isIP } from 'node:net'
import { posix } from 'node:path'
import { z } from 'zod'
import { parseJson } from './parse-json.js'
import type { PropertyType } from './property.js'

const asIs = (value: string): string => value

export const boolean: PropertyType<boolean> = {
  label: 'true or false',
  schema: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['true', 'false'], { error: 'must be true or false' }))
    .transform((text) => text === 'true'),
  show: String,
  json: { type: 'boolean' },
}

/** Both bounds are mandatory: without them a timer, a column or a sum could overflow. */
export function integer(min: number, max: number): PropertyType<number> {
  const range = `an integer from ${min} to ${max}`
  return {
    label: range,
    schema: z
      .string()
      .regex(/^-?\d+$/, `must be ${range}`)
      .transform(Number)
      .refine((value) => value >= min && value <= max, `must be ${range}`),
    show: String,
    json: { type: 'integer', minimum: min, ...(max !== Number.MAX_SAFE_INTEGER && { maximum: max }) },
  }
}

export const port = integer(1, 65_535)
/** 0: the system chooses a free port. */
export const portOrFree = integer(0, 65_535)
export const percent = integer(0, 100)
const SHARE = 'a number from 0 to 100'
/** Percent, with fractions. */
export const share: PropertyType<number> = {
  label: SHARE,
  schema: z
    .string()
    .regex(/^\d{1,3}(\.\d{1,6})?$/, `must be ${SHARE}`)
    .transform(Number)
    .refine((value) => value <= 100, `must be ${SHARE}`),
  show: String,
  json: { type: 'number', minimum: 0, maximum: 100 },
}

const MAX_TEXT = 1_024
const MAX_URL = 4_096
const MAX_HEADERS = 64
const MAX_HEADER_LENGTH = 8_192

// eslint-disable-next-line no-control-regex -- matches control characters on purpose
const CONTROL = /[\0-\x1f\x7f]/
export const NOT_STORABLE = 'must not contain NUL or a lone surrogate'
/** True for text that Postgres, JSON and HTTP can transport. */
export const isStorable = (value: string): boolean => value.isWellFormed() && !value.includes('\0')

const line = (max: number) =>
  z
    .string()
    .max(max, `must have at most ${max} characters`)
    .refine((value) => !CONTROL.test(value), 'must not contain control characters')

export const text: PropertyType<string> = { label: 'text', schema: line(MAX_TEXT), show: asIs }

export const textMatching = (pattern: RegExp, label: string): PropertyType<string> => ({
  label,
  schema: z.string().regex(pattern, `must be ${label}`),
  show: asIs,
})

export const choice = <const V extends string>(...values: readonly [V, ...V[]]): PropertyType<V> => ({
  label: values.map((value) => `\`${value}\``).join(', '),
  schema: z.enum(values, { error: `must be one of [${values.join(', ')}]` }),
  show: asIs,
  json: { type: 'string', enum: values },
})

const hasSchemeAndHost = (value: string, schemes: readonly string[]): boolean => {
  const parsed = URL.parse(value)
  return parsed !== null && parsed.hostname !== '' && schemes.includes(parsed.protocol.slice(0, -1))
}

const BAD_USERINFO = 'user and password of the URL must be percent-encoded UTF-8'

/** True when clients can decode user and password; `URL` accepts invalid escapes such as `%zz`. */
function hasReadableUserinfo(value: string): boolean {
  const { username = '', password = '' } = URL.parse(value) ?? {}
  try {
    return isStorable(decodeURIComponent(username)) && isStorable(decodeURIComponent(password))
  } catch {
    return false
  }
}

/** One URL, kept as it is. */
export function url(...schemes: readonly [string, ...string[]]): PropertyType<string> {
  const label = `a URL with scheme (${schemes.join(', ')}) and host`
  return {
    label,
    schema: line(MAX_URL)
      .refine((value) => hasSchemeAndHost(value, schemes), `must be ${label}`)
      .refine(hasReadableUserinfo, BAD_USERINFO),
    show: asIs,
  }
}

/** A URL that paths are appended to: a trailing slash is removed. */
export function baseUrl(...schemes: readonly [string, ...string[]]): PropertyType<string> {
  const { schema, ...type } = url(...schemes)
  return { ...type, schema: schema.transform((value) => value.replace(/\/+$/, '')) }
}

/** A base URL without user and password, which the properties `instead` hold. */
export function urlWithoutUserinfo(instead: string): PropertyType<string> {
  const { schema, ...type } = baseUrl('http', 'https')
  const hasNone = (value: string): boolean => {
    const { username, password } = new URL(value)
    return username === '' && password === ''
  }
  return { ...type, schema: schema.refine(hasNone, `must not contain credentials: use ${instead}`) }
}

/** One or more URLs, comma-separated. */
export function urls(...schemes: readonly [string, ...string[]]): PropertyType<string> {
  const label = `one or more URLs, comma-separated, each with scheme (${schemes.join(', ')}) and host`
  return {
    label,
    schema: line(MAX_URL)
      .refine((value) => value.split(',').every((one) => hasSchemeAndHost(one.trim(), schemes)), `must be ${label}`)
      .refine((value) => value.split(',').every((one) => hasReadableUserinfo(one.trim())), BAD_USERINFO),
    show: asIs,
  }
}

const NOT_ABSOLUTE = 'must be an absolute path'
const normalized = (value: string): string => posix.normalize(value).replace(/(?<=.)\/+$/, '')

/** An absolute path; `.`, `..` and a trailing slash are resolved. */
export const path: PropertyType<string> = {
  label: 'an absolute path',
  schema: line(MAX_TEXT).startsWith('/', NOT_ABSOLUTE).transform(normalized),
  show: asIs,
}

const ADDRESS = 'an address or a host name'
/** No name has a colon, or digits and dots alone. */
const isAddress = (value: string): boolean =>
  /^[0-9A-Za-z.:_-]{0,255}$/.test(value) && (isIP(value) !== 0 || !/:|^[\d.]+$/.test(value))

export const address: PropertyType<string> = {
  label: ADDRESS,
  schema: z.string().refine(isAddress, `must be ${ADDRESS}`),
  show: asIs,
}

/** A host that can be part of a URL. */
export const hostAlone: PropertyType<string> = {
  label: 'an address or a host name, without a port',
  schema: z
    .string()
    .refine(
      (value) => value === '' || isIP(value) !== 0 || /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(value),
      'must be an address or a host name of letters, digits, "." and "-", without a port',
    ),
  show: asIs,
}

const NOT_STRINGS = 'must be a JSON array of strings'

export const jsonStrings = z
  .string()
  .transform(parseJson)
  .pipe(z.array(z.string({ error: NOT_STRINGS }).refine(isStorable, NOT_STORABLE), { error: NOT_STRINGS }))

const STRINGS = { type: 'array', items: { type: 'string' } }

export const strings: PropertyType<string[]> = {
  label: 'a JSON array of strings',
  schema: jsonStrings,
  show: (value) => JSON.stringify(value),
  json: STRINGS,
}

export const paths: PropertyType<string[]> = {
  label: 'a JSON array of absolute paths',
  schema: jsonStrings
    .refine((values) => values.every((value) => value.startsWith('/')), 'each must be an absolute path')
    .transform((values) => values.map(normalized)),
  show: (value) => JSON.stringify(value),
}

/** Headers that the HTTP client sets itself: other values would break the framing of the request. */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The reason why the HTTP client cannot send a header, or undefined. Does not quote values, which may be credentials. */
function headerProblem(header: string): string | undefined {
  const name = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+): ?[^\r\n]+$/.exec(header)?.[1]
  if (name === undefined) return 'each header must be of the form "Name: value"'
  if (FRAMING.has(name.toLowerCase())) return `header ${name} is set by the HTTP client and cannot be configured`
  if (header.length > MAX_HEADER_LENGTH) return `header ${name} must have at most ${MAX_HEADER_LENGTH} characters`
  try {
    validateHeaderValue(name, header.slice(name.length + 1).trim())
    return undefined
  } catch {
    return `header ${name} has a character that cannot be sent in a header`
  }
}

export const headerLines: PropertyType<string[]> = {
  label: 'a JSON array of `Name: value` strings',
  schema: jsonStrings
    .refine((headers) => headers.length <= MAX_HEADERS, `must have at most ${MAX_HEADERS} headers`)
    .superRefine((headers, context) => {
      for (const header of headers.filter(isStorable)) {
        const problem = headerProblem(header)
        if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
      }
    }),
  show: (value) => JSON.stringify(value),
  json: STRINGS,
}

export const namesOf = <const V extends string>(what: string, known: readonly V[]): PropertyType<V[]> => ({
  label: `a JSON array of ${what} names`,
  schema: jsonStrings.transform((names, context) =>
    names.flatMap((name) => {
      const match = known.find((one) => one === name)
      if (match === undefined) context.addIssue({ code: 'custom', message: `${what} '${name}' does not exist` })
      return match === undefined ? [] : [match]
    }),
  ),
  show: (value) => JSON.stringify(value),
  json: { type: 'array', items: { type: 'string', enum: known } },
})

/** A list that must not be empty. */
export const nonEmpty = <V>(type: PropertyType<V[]>, message: string): PropertyType<V[]> => ({
  ...type,
  schema: type.schema.refine((values) => values.length > 0, message),
})

export const jsonStringsOf = (
  isGood: (value: string) => boolean,
  label: string,
  message: string,
): PropertyType<string[]> => ({
  label,
  schema: jsonStrings.superRefine((values, context) => {
    if (!values.every(isGood)) context.addIssue({ code: 'custom', message })
  }),
  show: (value) => JSON.stringify(value),
  json: STRINGS,
})

/** Whether the text is an address, or a network in CIDR notation. */
export function isAddressOrNetwork(value: string): boolean {
  const [host = '', prefix, ...rest] = value.split('/')
  const version = isIP(host)
  if (prefix === undefined) return version !== 0
  return rest.length === 0 && version !== 0 && /^\d+$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128)
}

const isHostOrNetwork = (value: string): boolean =>
  isAddressOrNetwork(value) || /^(?!\d+(\.\d+)*$)[0-9A-Za-z._-]+$/.test(value)

/** Addresses, networks in CIDR notation and host names. */
export const hostsOrNetworks = jsonStringsOf(
  isHostOrNetwork,
  'a JSON array of addresses, networks (CIDR) or host names',
  'each must be an address, a network in CIDR notation or a host name',
)

function isWebhookSecret(value: string): boolean {
  const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value) ?? []
  const bytes = Buffer.from(encoded, 'base64')
  const isWhole = encoded.replace(/=+$/, '').length % 4 !== 1
  return isWhole && bytes.length >= 24 && bytes.length <= 64
}

/** Keys of the Standard Webhooks scheme: 24 to 64 bytes. */
export const webhookSecrets = jsonStringsOf(
  isWebhookSecret,
  'a JSON array of `whsec_` and base64 of 24 to 64 bytes',
  'each must be whsec_ and the base64 of 24 to 64 bytes',
)

const isHost = (value: string): boolean =>
  URL.canParse(`http://${value}`) && new URL(`http://${value}`).host === value.toLowerCase()

/** Hosts as in the URL of a page: without the default port. */
export const hosts = jsonStringsOf(
  isHost,
  'a JSON array of `name` or `name:port`',
  'each must be a host, with its port unless that is the usual one',
)
