import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ClusterUsers, clusterUsers, isErrno, newPassword } from '@session-service/local-stack'

const SECRET_FILE = 'secret'

const NODE_NAME_FILE = 'media-node'
const CLUSTER_FILE = 'cluster'
/** Passwords of the bus users. */
const PASSWORD_FILE = { master: 'nats-master', node: 'nats-node' } as const

/** Generated once, and again after a reset. */
export const SECRET_FILES: readonly string[] = [SECRET_FILE, ...Object.values(PASSWORD_FILE)]

/** SERVICE_SECRET, else the secret stored in the data folder. */
export const findSecret = (env: NodeJS.ProcessEnv, dataFolder: string): string =>
  env.SERVICE_SECRET || stored(join(dataFolder, SECRET_FILE), () => randomBytes(18).toString('base64url'))

/** Name prefix of the media nodes: the same at each start, different on each machine. */
export const nodeName = (dataFolder: string): string =>
  stored(join(dataFolder, NODE_NAME_FILE), () => `media_${randomBytes(5).toString('hex')}`)

/** Bus cluster: SERVICE_BUS_CLUSTER, else one per data folder, so that several can share a bus server. */
export const busCluster = (env: NodeJS.ProcessEnv, dataFolder: string): string =>
  env.SERVICE_BUS_CLUSTER || stored(join(dataFolder, CLUSTER_FILE), () => `local_${randomBytes(5).toString('hex')}`)

/** Users of the launcher's bus: the same at each start, so that processes that outlive the launcher stay connected. */
export const busUsers = (cluster: string, dataFolder: string): ClusterUsers =>
  clusterUsers(cluster, {
    master: stored(join(dataFolder, PASSWORD_FILE.master), newPassword),
    node: stored(join(dataFolder, PASSWORD_FILE.node), newPassword),
  })

/** The content of the file, which the first run generates; readable by its owner only. */
function stored(file: string, generate: () => string): string {
  const existing = read(file)
  if (existing !== '') return existing
  const generated = generate()
  writeFileSync(file, `${generated}\n`, { mode: 0o600 })
  return generated
}

/** Empty when the file does not exist: one that cannot be read must not be replaced. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
    return ''
  }
}
