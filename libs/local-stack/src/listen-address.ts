import { isIPv6 } from 'node:net'

const ALL_ADDRESSES = new Set(['', '0.0.0.0', '::'])

/** The host of the URL of a server on this machine by its listen address; `loopback` when it listens on all addresses. */
export const urlHostOf = (address = '', loopback = '127.0.0.1'): string => {
  if (ALL_ADDRESSES.has(address)) return loopback
  return isIPv6(address) ? `[${address}]` : address
}
