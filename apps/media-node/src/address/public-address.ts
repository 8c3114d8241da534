import { isIP } from 'node:net'
import { ipFamily, networkList } from '@session-service/server-kit'

/** Networks whose addresses are not reachable from the internet (IANA special-purpose registries). */
const NOT_PUBLIC: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '::/96',
  '64:ff9b:1::/48',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
]
const notPublic = networkList(NOT_PUBLIC)

/** Whether clients on the internet can reach the address. */
export const isPublicAddress = (address: string): boolean =>
  isIP(address) !== 0 && !notPublic.check(address, ipFamily(address))

const HOST_NAME = /^(?=.{1,253}$)(?!-)[0-9A-Za-z-]{1,63}(?:\.[0-9A-Za-z-]{1,63})*$/
const UNSPECIFIED = new Set(['0.0.0.0', '::'])

/** Whether the text can be the address of an ICE candidate: an address, or a host name that is no malformed address. */
export const isAnnounceable = (text: string): boolean =>
  isIP(text) === 0 ? HOST_NAME.test(text) && !/^[\d.]+$/.test(text) : !UNSPECIFIED.has(text)
