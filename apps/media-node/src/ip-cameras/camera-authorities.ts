import { readFileSync } from 'node:fs'
import { ConfigError, type NodeConfig } from '@session-service/config'
import { messageOf } from '@session-service/server-kit'

const CERTIFICATE = /^-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----/m

/** Without this check each camera would fail. @throws ConfigError when MEDIA_NODE_CAMERA_CA_FILE has no certificate */
export function checkAuthorities({
  MEDIA_NODE_CAMERA_TLS_VERIFY: isVerified,
  MEDIA_NODE_CAMERA_CA_FILE: file,
}: Pick<NodeConfig, 'MEDIA_NODE_CAMERA_TLS_VERIFY' | 'MEDIA_NODE_CAMERA_CA_FILE'>): void {
  if (!isVerified || file === '') return
  const reason = problemOf(file)
  if (reason !== undefined) throw new ConfigError([`MEDIA_NODE_CAMERA_CA_FILE: cannot be used: ${reason}`])
}

function problemOf(file: string): string | undefined {
  try {
    return CERTIFICATE.test(readFileSync(file, 'utf8')) ? undefined : 'the file contains no PEM certificate'
  } catch (error) {
    return messageOf(error)
  }
}
