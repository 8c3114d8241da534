import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError, type Environment, type MasterConfig } from '@session-service/config'
import { isErrno } from '@session-service/server-kit'

type KubernetesProperties = Pick<
  MasterConfig,
  | 'SERVICE_KUBERNETES_API'
  | 'SERVICE_KUBERNETES_NAMESPACE'
  | 'SERVICE_KUBERNETES_TOKEN_FILE'
  | 'SERVICE_KUBERNETES_CA_FILE'
>

/** Where the API is, and the credentials for it. */
export interface KubernetesAccess {
  url: URL
  namespace: string
  /** Read for each request: Kubernetes replaces the token before it expires, and the authority when it rotates. */
  credentials(): Promise<Credentials>
}

interface Credentials {
  token: string
  /** PEM; undefined: the authorities of the system. */
  ca: string | undefined
}

/** @throws ConfigError that names the properties which are missing outside a pod */
export function kubernetesAccess(config: KubernetesProperties, env: Environment): KubernetesAccess {
  const problems: string[] = []
  const url = config.SERVICE_KUBERNETES_API || urlInPod(env)
  if (url === undefined) problems.push('SERVICE_KUBERNETES_API: is mandatory outside a pod of Kubernetes')
  const namespace = config.SERVICE_KUBERNETES_NAMESPACE || namespaceInPod(config.SERVICE_KUBERNETES_TOKEN_FILE)
  if (namespace === '') problems.push('SERVICE_KUBERNETES_NAMESPACE: is mandatory outside a pod of Kubernetes')
  if (url === undefined || problems.length > 0) throw new ConfigError(problems)
  return {
    url: new URL(url),
    namespace,
    credentials: async () => ({
      token: ((await textOf(config.SERVICE_KUBERNETES_TOKEN_FILE)) ?? '').trim(),
      ca: await textOf(config.SERVICE_KUBERNETES_CA_FILE),
    }),
  }
}

function urlInPod({ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' }: Environment) {
  if (!host) return undefined
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The namespace is in a file beside the token. */
function namespaceInPod(tokenFile: string): string {
  try {
    return readFileSync(join(dirname(tokenFile), 'namespace'), 'utf8').trim()
  } catch {
    return ''
  }
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}
