import { isIPv6 } from 'node:net'
import type { ClientIceServer, IceServer } from '@session-service/contract'
import type { MasterConfig } from '../../platform/config/configuration.module.js'
import { newTurnUsername, turnCredential } from './turn-credentials.js'

type IceConfig = Pick<
  MasterConfig,
  'SERVICE_WEBRTC_ICE_SERVERS' | 'TURN_IP' | 'TURN_PORT' | 'TURN_SHARED_SECRET_KEY' | 'TURN_CREDENTIALS_TTL'
>

/**
 * The ICE servers of one client: those of its connection, else the configured ones, else the service's own TURN server.
 * Clients get no shared secret but a user name and a credential that expire.
 */
export function iceServersFor(custom: readonly IceServer[], config: IceConfig, now: number): ClientIceServer[] {
  const username = newTurnUsername(now + config.TURN_CREDENTIALS_TTL * 1000)
  const access = (secret: string) => ({ username, credential: turnCredential(username, secret) })
  const given = custom.length > 0 ? custom : config.SERVICE_WEBRTC_ICE_SERVERS
  if (given.length > 0) {
    return given.map(({ staticAuthSecret, ...server }) =>
      staticAuthSecret === undefined ? server : { url: server.url, ...access(staticAuthSecret) },
    )
  }
  const own = access(config.TURN_SHARED_SECRET_KEY)
  return ownTurnUrls(config).map((url) => ({ url, ...own }))
}

/** Includes TCP, for networks that block UDP. */
function ownTurnUrls({ TURN_IP: address, TURN_PORT: port }: IceConfig): string[] {
  if (address === '') return []
  const url = `turn:${isIPv6(address) ? `[${address}]` : address}:${port}`
  return [url, `${url}?transport=tcp`]
}
