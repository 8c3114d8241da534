import { isIPv6 } from 'node:net'
import { z } from 'zod'
import type { PropertyType } from './property.js'

const LABEL = 'a host, `host:port` or `[IPv6 address]:port`'
const FORM = /^(?:[0-9A-Za-z](?:[0-9A-Za-z.-]*[0-9A-Za-z])?|\[([0-9A-Fa-f:.]+)\])(?::(\d{1,5}))?$/

function isEndpoint(value: string): boolean {
  const match = FORM.exec(value)
  if (!match) return false
  const [, ipv6, port] = match
  return (ipv6 === undefined || isIPv6(ipv6)) && (port === undefined || (Number(port) > 0 && Number(port) < 65_536))
}

/** A host of a server whose protocol has a default port; it may be empty. */
export const endpoint: PropertyType<string> = {
  label: LABEL,
  schema: z.string().refine((value) => value === '' || isEndpoint(value), `must be ${LABEL.replaceAll('`', '')}`),
  show: (value) => value,
}
