import { isIP } from 'node:net'
import { z } from 'zod'
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
}

export function integer(min = 0, max = Number.MAX_SAFE_INTEGER): PropertyType<number> {
  const range =
    max === Number.MAX_SAFE_INTEGER
      ? min === 0
        ? 'a non-negative integer'
        : `an integer of at least ${min}`
      : `an integer from ${min} to ${max}`
  return {
    label: range,
    schema: z
      .string()
      .regex(/^-?\d+$/, `must be ${range}`)
      .transform(Number)
      .refine((value) => value >= min && value <= max, `must be ${range}`),
    show: String,
  }
}

export const port = integer(1, 65_535)
/** 0 lets the system choose. */
export const portOrFree = integer(0, 65_535)
export const percent = integer(0, 100)

export const text: PropertyType<string> = { label: 'text', schema: z.string(), show: asIs }

export const textMatching = (pattern: RegExp, label: string): PropertyType<string> => ({
  label,
  schema: z.string().regex(pattern, `must be ${label}`),
  show: asIs,
})

export const choice = <const V extends string>(...values: readonly [V, ...V[]]): PropertyType<V> => ({
  label: values.map((value) => `\`${value}\``).join(', '),
  schema: z.enum(values, { error: `must be one of [${values.join(', ')}]` }),
  show: asIs,
})

const hasSchemeAndHost = (value: string, schemes: readonly string[]): boolean => {
  const parsed = URL.parse(value)
  return parsed !== null && parsed.hostname !== '' && schemes.includes(parsed.protocol.slice(0, -1))
}

/** A URL without a slash at its end. */
export function url(...schemes: readonly [string, ...string[]]): PropertyType<string> {
  const label = `a URL with scheme (${schemes.join(', ')}) and host`
  return {
    label,
    schema: z
      .string()
      .refine((value) => hasSchemeAndHost(value, schemes), `must be ${label}`)
      .transform((value) => value.replace(/\/+$/, '')),
    show: asIs,
  }
}

/** One URL or several, comma-separated. */
export function urls(...schemes: readonly [string, ...string[]]): PropertyType<string> {
  const label = `one URL or several, comma-separated, each with scheme (${schemes.join(', ')}) and host`
  return {
    label,
    schema: z
      .string()
      .refine((value) => value.split(',').every((one) => hasSchemeAndHost(one.trim(), schemes)), `must be ${label}`),
    show: asIs,
  }
}

/** An absolute path without a slash at its end. */
export const path: PropertyType<string> = {
  label: 'an absolute path',
  schema: z
    .string()
    .startsWith('/', 'must be an absolute path')
    .transform((value) => value.replace(/(?<=.)\/+$/, '')),
  show: asIs,
}

export const address = textMatching(/^[0-9A-Za-z.:_-]*$/, 'an address or a host name')

/** What a URL can be made of. */
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

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

const jsonStrings = z
  .string()
  .transform(parseJson)
  .pipe(z.array(z.string({ error: NOT_STRINGS }), { error: NOT_STRINGS }))

export const strings: PropertyType<string[]> = {
  label: 'a JSON array of strings',
  schema: jsonStrings,
  show: (value) => JSON.stringify(value),
}

export const headerLines: PropertyType<string[]> = {
  label: 'a JSON array of `Name: value` strings',
  schema: jsonStrings.superRefine((lines, context) => {
    for (const line of lines)
      if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+: ?[^\r\n]+$/.test(line))
        context.addIssue({ code: 'custom', message: 'each header must be of the form "Name: value"' })
  }),
  show: (value) => JSON.stringify(value),
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
})

const jsonStringsOf = (isGood: (value: string) => boolean, label: string, message: string): PropertyType<string[]> => ({
  label,
  schema: jsonStrings.superRefine((values, context) => {
    if (!values.every(isGood)) context.addIssue({ code: 'custom', message })
  }),
  show: (value) => JSON.stringify(value),
})

function isHostOrNetwork(value: string): boolean {
  const [host = '', prefix, ...rest] = value.split('/')
  const version = isIP(host)
  if (prefix === undefined) return version !== 0 || /^(?!\d+(\.\d+)*$)[0-9A-Za-z._-]+$/.test(host)
  return rest.length === 0 && version !== 0 && /^\d+$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128)
}

/** Addresses, networks in CIDR notation and host names. */
export const hostsOrNetworks = jsonStringsOf(
  isHostOrNetwork,
  'a JSON array of addresses, networks (CIDR) or host names',
  'each must be an address, a network in CIDR notation or a host name',
)

/** Keys of the Standard Webhooks scheme: 24 to 64 bytes. */
export const webhookSecrets = jsonStringsOf(
  (value) => /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/.test(value),
  'a JSON array of `whsec_` and base64 of 24 to 64 bytes',
  'each must be whsec_ and the base64 of 24 to 64 bytes',
)

const isHost = (value: string): boolean =>
  URL.canParse(`http://${value}`) && new URL(`http://${value}`).host === value.toLowerCase()

/** As the address of a page has them: with the port unless it is the usual one. */
export const hosts = jsonStringsOf(
  isHost,
  'a JSON array of `name` or `name:port`',
  'each must be a host, with its port unless that is the usual one',
)
