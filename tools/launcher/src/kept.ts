import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ClusterUsers, clusterUsers, newPassword } from '@session-service/local-stack'

const SECRET_FILE = 'secret'

const NODE_NAME_FILE = 'media-node'
const CLUSTER_FILE = 'cluster'
/** Of the users of the bus. */
const PASSWORD_FILE = { master: 'nats-master', node: 'nats-node' } as const

/** Drawn once, and drawn again after a reset. */
export const SECRET_FILES: readonly string[] = [SECRET_FILE, ...Object.values(PASSWORD_FILE)]

/** SERVICE_SECRET, else the one kept in the data folder. */
export const findSecret = (env: NodeJS.ProcessEnv, dataFolder: string): string =>
  env.SERVICE_SECRET || kept(join(dataFolder, SECRET_FILE), () => randomBytes(18).toString('base64url'))

/** What the media nodes of this folder are called: the same at each start, and like those of no other machine. */
export const nodeName = (dataFolder: string): string =>
  kept(join(dataFolder, NODE_NAME_FILE), () => `media_${randomBytes(5).toString('hex')}`)

/** Cluster on the bus: SERVICE_BUS_CLUSTER, else one of this folder, so that several can share a bus server. */
export const busCluster = (env: NodeJS.ProcessEnv, dataFolder: string): string =>
  env.SERVICE_BUS_CLUSTER || kept(join(dataFolder, CLUSTER_FILE), () => `local_${randomBytes(5).toString('hex')}`)

/** Users of the bus that the launcher starts: the same at each start, so that processes that outlive it stay connected. */
export const busUsers = (cluster: string, dataFolder: string): ClusterUsers =>
  clusterUsers(cluster, {
    master: kept(join(dataFolder, PASSWORD_FILE.master), newPassword),
    node: kept(join(dataFolder, PASSWORD_FILE.node), newPassword),
  })

/** What an earlier run wrote, made on the first one; readable for its owner alone. */
function kept(file: string, make: () => string): string {
  const there = read(file)
  if (there !== '') return there
  const made = make()
  writeFileSync(file, `${made}\n`, { mode: 0o600 })
  return made
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
