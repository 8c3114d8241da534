import { isIP, isIPv4 } from 'node:net'
import { z } from 'zod'
import type { PropertyType } from './property.js'
import { address, isAddressOrNetwork, jsonStrings, jsonStringsOf, strings } from './types.js'

/** The origin as browsers send it, or undefined for text that is none. Applications have schemes of their own. */
function originOf(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || url.host === '' || url.host.includes('*')) return undefined
  const { protocol, host, origin } = url
  const isAlone = /^\/?$/.test(url.pathname) && url.username + url.password + url.search + url.hash === ''
  if (!isAlone) return undefined
  return origin === 'null' ? `${protocol}//${host}` : origin
}

/** All pages, sandboxed frames, and pages of local files: browsers send the last two as they are. */
const WITHOUT_HOST = ['*', 'null', 'file://']

/** Origins of pages, and `*` for all. */
export const origins: PropertyType<string[]> = {
  ...strings,
  label: 'a JSON array of `*` or origins such as `https://app.example.com`',
  schema: jsonStrings.transform((values, context) =>
    values.flatMap((value) => {
      const origin = WITHOUT_HOST.includes(value) ? value : originOf(value)
      if (origin !== undefined) return [origin]
      const message = 'each must be * or an origin such as https://app.example.com'
      context.addIssue({ code: 'custom', message })
      return []
    }),
  ),
}

/** Whether the text is a network in the older notation, such as 10.0.0.0/255.0.0.0. */
function isMaskedNetwork(value: string): boolean {
  const [host = '', mask = '', ...rest] = value.split('/')
  const bits = mask.split('.').map((byte) => Number(byte).toString(2).padStart(8, '0'))
  return rest.length === 0 && isIPv4(host) && isIPv4(mask) && /^1+0*$/.test(bits.join(''))
}

const RANGES = ['loopback', 'linklocal', 'uniquelocal']
/** No header of all senders can be trusted. */
const isProxy = (value: string): boolean =>
  RANGES.includes(value) || (isAddressOrNetwork(value) && !/\/0+$/.test(value)) || isMaskedNetwork(value)

/** Proxies, as the HTTP server accepts them. */
export const proxies = jsonStringsOf(
  isProxy,
  'a JSON array of addresses, networks (CIDR), `loopback`, `linklocal` or `uniquelocal`',
  'each must be an address, a network in CIDR notation other than /0, loopback, linklocal or uniquelocal',
)

const IP = 'an IPv4 or IPv6 address'
export const ipAddress: PropertyType<string> = {
  label: IP,
  schema: z.string().refine((value) => isIP(value) !== 0 && !value.includes('%'), `must be ${IP}`),
  show: (value) => value,
}

/** An address to which others send: not that of all interfaces. */
export const destination: PropertyType<string> = {
  ...address,
  schema: address.schema.refine((value) => !/^[0:.]+$/.test(value), 'must be the address of one interface'),
}
