import { lookup, type LookupAddress } from 'node:dns'
import { isIP, type BlockList, type LookupFunction } from 'node:net'
import { ipFamily, isIpNetwork, networkList } from '@session-service/server-kit'

/** Networks of private addresses, which a webhook may be posted to only if the operator allows it. */
const PRIVATE: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/127',
  '64:ff9b::/96',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
]

/** Unwraps IPv4-mapped IPv6 addresses, in both spellings: `::ffff:10.0.0.1` and `::ffff:a00:1`. */
function unmapped(address: string): string {
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? []
  if (high === undefined || low === undefined) return address.replace(/^::ffff:(?=\d+\.)/i, '')
  const bits = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return bits.flatMap((half) => [half >> 8, half & 255]).join('.')
}

export type Resolve = (host: string, done: (error: Error | null, addresses: LookupAddress[]) => void) => void

const resolveAll: Resolve = (host, done) => lookup(host, { all: true, verbatim: true }, done)

/** Decides which addresses may be posted to; its `lookup` connects to the very address that it has checked. */
export class AddressGuard {
  readonly #privateNetworks = networkList(PRIVATE)
  readonly #allowed: BlockList
  readonly #allowedHosts: ReadonlySet<string>

  constructor(
    allowed: readonly string[],
    private readonly resolve: Resolve = resolveAll,
  ) {
    this.#allowed = networkList(allowed.filter(isIpNetwork))
    this.#allowedHosts = new Set(allowed.filter((entry) => !isIpNetwork(entry)).map((host) => host.toLowerCase()))
  }

  mayReach(address: string): boolean {
    const plain = unmapped(address)
    const kind = ipFamily(plain)
    return !this.#privateNetworks.check(plain, kind) || this.#allowed.check(plain, kind)
  }

  /** Why the host of a URL may not be posted to; undefined when it may, or has to be resolved first. */
  refusal(host: string): string | undefined {
    const literal = host.replace(/^\[|\]$/g, '')
    return isIP(literal) === 0 || this.mayReach(literal) ? undefined : refused(literal)
  }

  /** Resolves once and gives addresses that passed the check: a second answer of the DNS has no effect. */
  readonly lookup: LookupFunction = (host, options, done) => {
    this.resolve(host, (error, addresses) => {
      if (error) return done(error, '')
      const isTrusted = this.#allowedHosts.has(host.toLowerCase())
      const permitted = addresses.filter(({ address }) => isTrusted || this.mayReach(address))
      const [first] = permitted
      if (!first) return done(new Error(refused(`${host} (${addresses.map(({ address }) => address).join(', ')})`)), '')
      if (options.all) done(null, permitted)
      else done(null, first.address, first.family)
    })
  }
}

const refused = (what: string): string =>
  `${what} is a private address, which SERVICE_WEBHOOK_ALLOWED_ADDRESSES does not name`
