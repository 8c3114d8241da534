/** The member of connection options in the REST interface of version 2; ours is `mediaserverOptions`. */
export const LEGACY_OPTIONS = 'kurentoOptions'
/** The member of the configuration with the addresses of media nodes; ours is `MEDIASERVER_URIS`. */
export const LEGACY_NODE_URIS = 'KMS_URIS'

/** The names of version 2 that contain the prefix which its clients use. */
export interface LegacyNames {
  prefix: string
  /** The path of sockets. */
  socketPath: string
  /** The user of the REST interface. */
  user: string
  /** The start of the names of configuration properties; ours is `SERVICE_`. */
  configPrefix: string
  /** The reason of sessions that end with their server. */
  serverStopped: string
}

export function legacyNames(prefix: string): LegacyNames {
  const upper = prefix.toUpperCase().replaceAll('-', '_')
  return {
    prefix,
    socketPath: `/${prefix}`,
    user: `${prefix.toUpperCase()}APP`,
    configPrefix: `${upper}_`,
    serverStopped: `${prefix}ServerStopped`,
  }
}
