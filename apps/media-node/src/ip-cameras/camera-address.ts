import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { ServiceError } from '@session-service/contract'
import { ipFamily, isIpNetwork, networkList, withTimeout } from '@session-service/server-kit'
import { parseCameraUri, type CameraUri } from './camera-uri.js'

/**
 * Addresses that a camera may not have, unless the operator allows it: this machine, its link and metadata services.
 * Private networks are where cameras are. `camera/guard.c` has the same list and checks each connection.
 */
const FORBIDDEN: readonly string[] = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '100.100.100.200/32',
  '::/128',
  '::1/128',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::254/128',
]
const RESOLVE_TIMEOUT_MS = 3_000

export interface CheckedAddress extends CameraUri {
  /** The IP addresses of its host; empty for files. */
  hosts: readonly string[]
  /** Networks that the program may reach although they are forbidden by default. */
  allow: string[]
}

type ResolveHost = (host: string) => Promise<readonly string[]>

/** `10.0.0.1` becomes `10.0.0.1/32`. */
const asNetwork = (entry: string): string =>
  entry.includes('/') ? entry : `${entry}/${ipFamily(entry) === 'ipv4' ? 32 : 128}`

const FORBIDDEN_LIST = networkList(FORBIDDEN)

/** The IPv4 address in an IPv6 one: mapped, compatible, or of a translator (NAT64, 6to4); others unchanged. */
export function embeddedAddress(address: string): string {
  if (isIP(address) !== 6) return address
  const groups = groupsOf(address)
  const starts = (...prefix: readonly number[]): boolean => prefix.every((group, at) => groups[at] === group)
  const [high = 0, low = 0] = groups.slice(6)
  if (starts(0x2002)) return dotted(groups[1] ?? 0, groups[2] ?? 0)
  if (starts(0, 0, 0, 0, 0, 0xffff) || starts(0x64, 0xff9b, 0, 0, 0, 0)) return dotted(high, low)
  return starts(0, 0, 0, 0, 0, 0) && high > 0 ? dotted(high, low) : address
}

const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join('.')

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [plain = ''] = address.split('%')
  const v4 = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(plain)
  const bytes = v4?.slice(1).map(Number) ?? []
  const [a = 0, b = 0, c = 0, d = 0] = bytes
  const text = v4 ? plain.slice(0, v4.index) + [(a << 8) | b, (c << 8) | d].map((n) => n.toString(16)).join(':') : plain
  const [head = '', tail] = text.split('::')
  const numbersOf = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const end = tail === undefined ? [] : numbersOf(tail)
  const begin = numbersOf(head)
  return [...begin, ...Array<number>(Math.max(0, 8 - begin.length - end.length)).fill(0), ...end]
}

/** Whether a camera may have this address. */
export function isAllowedAddress(address: string, allowed: readonly string[]): boolean {
  const plain = embeddedAddress(address.split('%')[0] ?? '')
  const kind = ipFamily(plain)
  return !FORBIDDEN_LIST.check(plain, kind) || networkList(allowed.filter(isIpNetwork)).check(plain, kind)
}

/**
 * Parses the address of a camera and checks every address of its host.
 * @throws ServiceError INVALID when it must not be read, CAMERA_FAILED when its host cannot be resolved
 */
export async function checkCameraAddress(
  text: string,
  allowed: readonly string[],
  resolve: ResolveHost = resolveHost,
): Promise<CheckedAddress> {
  const uri = parse(text)
  const networks = allowed.filter(isIpNetwork).map(asNetwork)
  if (uri.scheme === 'file') return { ...uri, hosts: [], allow: networks }
  const isAllowedHost = allowed.some((entry) => entry.toLowerCase() === uri.host.toLowerCase())
  const hosts = await addressesOf(uri, resolve)
  if (isAllowedHost) return { ...uri, hosts, allow: [...networks, ...hosts.map(asNetwork)] }
  const forbidden = hosts.find((address) => !isAllowedAddress(address, allowed))
  if (forbidden !== undefined)
    throw new ServiceError(
      'INVALID',
      `rtspUri: the address ${forbidden} is not allowed for cameras (SERVICE_IPCAM_ALLOWED_ADDRESSES)`,
    )
  return { ...uri, hosts, allow: networks }
}

function parse(text: string): CameraUri {
  try {
    return parseCameraUri(text)
  } catch (error) {
    throw new ServiceError('INVALID', `rtspUri: ${error instanceof Error ? error.message : 'is not valid'}`)
  }
}

async function addressesOf({ host }: CameraUri, resolve: ResolveHost): Promise<string[]> {
  if (isIP(host) !== 0) return [host]
  const resolved = await resolve(host).catch(() => [])
  if (resolved.length === 0) throw new ServiceError('CAMERA_FAILED', 'the name of the camera cannot be resolved')
  return resolved.map((address) => address.split('%')[0] ?? '')
}

/** A resolver that does not answer must not delay the request. */
async function resolveHost(host: string): Promise<string[]> {
  const found = await withTimeout(lookup(host, { all: true, verbatim: true }), RESOLVE_TIMEOUT_MS, 'the resolver')
  return found.map(({ address }) => address)
}
