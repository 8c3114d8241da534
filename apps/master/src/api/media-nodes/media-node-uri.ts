import { isIP } from 'node:net'
import { ipFamily, networkList } from '@session-service/server-kit'

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'ws:': 80, 'http:': 80, 'wss:': 443, 'https:': 443 }

/** Addresses of metadata services, which give the secrets of their machine to its processes (SSRF). */
const LINK_LOCAL = networkList(['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254'])
const METADATA_HOSTS = ['metadata', 'metadata.google.internal']

/** `host:port` of a URI; undefined when a media node cannot have that URI. */
export function endpointOf(uri: string): string | undefined {
  const url = URL.parse(uri)
  const defaultPort = url && DEFAULT_PORTS[url.protocol]
  if (!url || defaultPort === null || defaultPort === undefined || url.hostname === '') return undefined
  return `${url.hostname}:${url.port || defaultPort}`
}

/** The reason why this URI cannot name a media node; undefined when it can. */
export function uriFault(uri: string, publicUrl: string): string | undefined {
  const endpoint = endpointOf(uri)
  if (endpoint === undefined) return 'must be a URL with scheme (ws, wss, http, https) and host'
  if (endpoint === endpointOf(publicUrl)) return 'is the address of this service itself'
  if (isLinkLocal(new URL(uri).hostname)) return 'is a link-local address'
  return undefined
}

function isLinkLocal(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (METADATA_HOSTS.includes(host)) return true
  return isIP(host) !== 0 && LINK_LOCAL.check(host, ipFamily(host))
}
