import { join } from 'node:path'

export type Env = Readonly<Record<string, string>>

export interface StackFacts {
  secret: string
  databaseUrl: string
  /** The URL of the bus with the credentials of masters. */
  natsUrl: string
  /** The URL of the bus with the credentials of media nodes. */
  nodeNatsUrl: string
  /** The parent folder of the recordings of masters and nodes. */
  folder: string
}

const COMMON = { SERVICE_LOG_FORMAT: 'json', SERVICE_OPS_HOST: '127.0.0.1' }

/** The folder of the recordings of masters. */
export const recordingsFolder = (folder: string): string => join(folder, 'recordings')

export const masterEnv = (facts: StackFacts, [port, opsPort]: readonly number[], host = '127.0.0.1'): Env => ({
  ...COMMON,
  SERVICE_SECRET: facts.secret,
  DATABASE_URL: facts.databaseUrl,
  NATS_URL: facts.natsUrl,
  SERVICE_HOST: host,
  SERVICE_PORT: String(port),
  SERVICE_PUBLICURL: `http://${host}:${port}`,
  SERVICE_OPS_PORT: String(opsPort),
  SERVICE_RECORDING_PATH: recordingsFolder(facts.folder),
  // Nodes that the master starts use it.
  MEDIA_NODE_NATS_URL: facts.nodeNatsUrl,
  MEDIA_NODE_RECORDING_PATH: join(facts.folder, 'nodes'),
})

/** `number` counts from 1. Each node has its own folder for recordings that it has not delivered yet. */
export const nodeEnv = (facts: StackFacts, opsPort: number, number: number): Env => ({
  ...COMMON,
  NATS_URL: facts.nodeNatsUrl,
  SERVICE_OPS_PORT: String(opsPort),
  MEDIA_NODE_IP: '127.0.0.1',
  MEDIA_NODE_WORKERS: '1',
  SERVICE_RECORDING_PATH: recordingsFolder(facts.folder),
  MEDIA_NODE_RECORDING_PATH: join(facts.folder, 'nodes', String(number)),
})

export const playgroundEnv = (masterUrl: string, secret: string, port: number): Env => ({
  PLAYGROUND_HOST: '127.0.0.1',
  PLAYGROUND_PORT: String(port),
  SERVICE_URL: masterUrl,
  SERVICE_SECRET: secret,
})
