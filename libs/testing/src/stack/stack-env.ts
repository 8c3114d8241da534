import { join } from 'node:path'

export type Env = Readonly<Record<string, string>>

export interface StackFacts {
  secret: string
  databaseUrl: string
  /** Of the bus, with the credentials of masters. */
  natsUrl: string
  /** With those of media nodes. */
  nodeNatsUrl: string
  /** Where masters keep recordings and nodes make them. */
  folder: string
}

const COMMON = { SERVICE_LOG_FORMAT: 'json', SERVICE_OPS_HOST: '127.0.0.1' }

/** What masters have recorded. */
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
  // For nodes that the master starts.
  MEDIA_NODE_NATS_URL: facts.nodeNatsUrl,
  MEDIA_NODE_RECORDING_PATH: join(facts.folder, 'nodes'),
})

/** `number` counts from 1: what a node records it keeps for itself until it is delivered. */
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
