import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type ProcessKind, PROPERTIES, type PropertyName } from '@session-service/config'
import { urlHostOf } from '@session-service/local-stack'
import type { Ports } from './ports.js'
import type { SpeechFiles } from './speech.js'

export type Env = Record<string, string>

export interface Facts {
  secret: string
  databaseUrl: string
  /** URL of the bus with the credentials of masters. */
  natsUrl: string
  /** URL of the bus with the credentials of media nodes. */
  nodeNatsUrl: string
  busCluster: string
  ports: Ports
  nodes: number
  /** Name of the media nodes without their number. */
  nodeName: string
  dataFolder: string
  /** Undefined without captions. */
  speech?: SpeechFiles | undefined
}

/** The user's environment without empty variables and those of npm, which describe the npm that started the launcher. */
export const givenEnv = (env: NodeJS.ProcessEnv): Env =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || value === '' || /^npm_/i.test(name) ? [] : [[name, value]],
    ),
  )

/** Removes properties of other kinds of processes: a media node must not get the secret of the API. */
const ownOf = (given: Env, kind: ProcessKind): Env =>
  Object.fromEntries(
    Object.entries(given).filter(([name]) => {
      const property = isPropertyName(name) ? PROPERTIES[name] : undefined
      return property === undefined || property.audience === kind || property.audience === 'both'
    }),
  )

const isPropertyName = (name: string): name is PropertyName => name in PROPERTIES

/** The playground is a client of the API: it gets only the properties that `playgroundEnv` adds. */
const withoutProperties = (given: Env): Env =>
  Object.fromEntries(Object.entries(given).filter(([name]) => !isPropertyName(name)))

const commonEnv = (given: Env): Env => ({
  // Probes and metrics need no credentials.
  SERVICE_OPS_HOST: '127.0.0.1',
  ...(given.LOG_LEVEL !== undefined && { SERVICE_LOG_LEVEL: given.LOG_LEVEL }),
})

/** The launcher reads the lines of the log, and formats them. */
const LOG_FORMAT: Env = { SERVICE_LOG_FORMAT: 'json' }

/** The recordings folder of masters; media nodes on the same file system move their files to it. */
const recordingsEnv = (dataFolder: string): Env => ({ SERVICE_RECORDING_PATH: join(dataFolder, 'recordings') })

/** The engine and the models of media nodes; also for those that the master starts. */
const speechEnv = (speech: SpeechFiles | undefined): Env =>
  speech ? { MEDIA_NODE_SPEECH_TO_TEXT_MODELS: speech.models, MEDIA_NODE_VOSK_LIBRARY: speech.library } : {}

/** The dashboard is on unless the user disables it. */
export const dashboardEnv = ({ SERVICE_PRO_DASHBOARD = 'true' }: Env): Env => ({ SERVICE_PRO_DASHBOARD })

/** The base URL of the master. */
export const serviceUrl = ({ SERVICE_HOST }: Env, { service }: Pick<Ports, 'service'>): string =>
  `http://${urlHostOf(SERVICE_HOST, 'localhost')}:${service}`

/** The URL of the page; undefined without the playground. */
export const pageUrl = ({ PLAYGROUND_HOST }: Env, { playground }: Pick<Ports, 'playground'>): string | undefined =>
  playground === undefined ? undefined : `http://${urlHostOf(PLAYGROUND_HOST, 'localhost')}:${playground}`

export const masterEnv = (
  given: Env,
  { secret, databaseUrl, natsUrl, nodeNatsUrl, busCluster, ports, dataFolder, speech }: Facts,
): Env => ({
  ...commonEnv(given),
  ...recordingsEnv(dataFolder),
  // For media nodes that the master starts.
  MEDIA_NODE_RECORDING_PATH: join(dataFolder, 'media-nodes'),
  // Without a compositor recording is unavailable, which the bootstrap has reported.
  SERVICE_RECORDING: String(given.COMPOSITOR_BIN !== undefined),
  ...dashboardEnv(given),
  // The address in tokens.
  SERVICE_PUBLICURL: serviceUrl(given, ports),
  // Media nodes that the master starts take their properties from its environment.
  ...given,
  ...LOG_FORMAT,
  ...speechEnv(speech),
  ...(speech && { SERVICE_PRO_SPEECH_TO_TEXT: 'vosk' }),
  SERVICE_SECRET: secret,
  DATABASE_URL: databaseUrl,
  NATS_URL: natsUrl,
  MEDIA_NODE_NATS_URL: nodeNatsUrl,
  SERVICE_BUS_CLUSTER: busCluster,
  SERVICE_PORT: String(ports.service),
  SERVICE_OPS_PORT: String(ports.masterOps),
})

/** `index` counts from 0. Ports and cores are divided among the nodes. */
export function nodeEnv(given: Env, facts: Facts, index: number): Env {
  const { nodeNatsUrl, busCluster, ports, nodes, nodeName, dataFolder, speech } = facts
  const workers = Number(given.MEDIA_NODE_WORKERS ?? 0) || Math.max(1, Math.floor(availableParallelism() / nodes))
  const { MEDIA_NODE_ID: name = nodeName, MEDIA_NODE_RTC_PORT: firstPort } = given
  // A node treats files in its folder as its own, from an earlier run.
  const recordings = join(given.MEDIA_NODE_RECORDING_PATH ?? join(dataFolder, 'media-nodes'), String(index + 1))
  return {
    ...commonEnv(given),
    ...recordingsEnv(dataFolder),
    ...ownOf(given, 'node'),
    ...LOG_FORMAT,
    ...speechEnv(speech),
    MEDIA_NODE_RECORDING_PATH: recordings,
    NATS_URL: nodeNatsUrl,
    SERVICE_BUS_CLUSTER: busCluster,
    SERVICE_OPS_PORT: String(ports.nodeOps[index] ?? 0),
    MEDIA_NODE_WORKERS: String(workers),
    // A restarted node keeps its id.
    MEDIA_NODE_ID: given.MEDIA_NODE_ID && nodes === 1 ? name : `${name}-${index + 1}`,
    ...(firstPort !== undefined &&
      firstPort !== '0' && { MEDIA_NODE_RTC_PORT: String(Number(firstPort) + index * workers) }),
  }
}

export const playgroundEnv = (given: Env, { secret, ports }: Facts): Env => ({
  ...commonEnv(given),
  // The page can create sessions without credentials: by default it is reachable from this machine only.
  PLAYGROUND_HOST: '127.0.0.1',
  SERVICE_URL: serviceUrl(given, ports),
  ...withoutProperties(given),
  ...LOG_FORMAT,
  ...(given.SERVICE_RUN_AS !== undefined && { SERVICE_RUN_AS: given.SERVICE_RUN_AS }),
  PLAYGROUND_PORT: String(ports.playground),
  SERVICE_SECRET: secret,
})
