import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { withTimeout } from '@session-service/server-kit'

/** A name server that does not answer delays the creation of a camera by this, ms. */
const LOOKUP_MS = 1_000

/** The IP address of a host; null when its name cannot be resolved in time, which the media node may still do. */
export async function addressOf(
  host: string,
  resolve: (host: string) => Promise<{ address: string }> = lookup,
  timeoutMs = LOOKUP_MS,
): Promise<string | null> {
  if (isIP(host) !== 0) return host
  try {
    return (await withTimeout(resolve(host), timeoutMs, 'the lookup of the address')).address
  } catch {
    return null
  }
}
