import { BlockList, isIP } from 'node:net'

/** The family of an IP address, as `BlockList` names it. */
export const ipFamily = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Whether an entry of a list is an address or a network (`10.0.0.0/8`), and no host name. */
export const isIpNetwork = (entry: string): boolean => isIP(entry.split('/')[0] ?? '') !== 0

/** Finds addresses in these networks; an entry without a prefix length is one address. */
export function networkList(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/')
    if (prefix === undefined) list.addAddress(address, ipFamily(address))
    else list.addSubnet(address, Number(prefix), ipFamily(address))
  }
  return list
}
