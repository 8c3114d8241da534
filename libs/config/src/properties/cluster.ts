import { z } from 'zod'
import { type Known, property, type PropertyType } from '../property/property.js'
import {
  baseUrl,
  boolean,
  choice,
  integer,
  path,
  percent,
  strings,
  text,
  urls,
  urlWithoutUserinfo,
} from '../property/types.js'

const DAY_S = 86_400
const MAX_NODES = 1_000

interface Details {
  meaning: string
  unit?: string
  restartable?: boolean
}
/** A property that is validated and shown but has no effect in this version. */
const pending = <T>(type: PropertyType<T>, value: NoInfer<T>, details: Details) =>
  property('master', type, { default: value, pending: true, ...details })
const version = (of: string) => pending(text, '', { meaning: `Version of ${of}, shown by \`GET config\`` })

const reconnection: PropertyType<number> = {
  label: `-1, or an integer from 3 to ${DAY_S}`,
  schema: z
    .string()
    .regex(/^-?\d+$/, `must be -1, or an integer from 3 to ${DAY_S}`)
    .transform(Number)
    .refine((value) => value === -1 || (value >= 3 && value <= DAY_S), `must be -1, or an integer from 3 to ${DAY_S}`),
  show: String,
}

function reconnectionTimeout(values: Known['values']): number {
  if (values.SERVICE_PRO_CLUSTER_ENVIRONMENT === 'kubernetes') return 30
  return values.SERVICE_PRO_CLUSTER_ENVIRONMENT === 'on_premise' && !values.SERVICE_PRO_CLUSTER_AUTOSCALING ? -1 : 3
}

const ENGINES = choice('disabled', 'vosk', 'sherpa')
/** Cloud engines of other servers of the contract are rejected by name. */
const speechEngine: typeof ENGINES = {
  ...ENGINES,
  schema: z
    .string()
    .refine((value) => value !== 'azure' && value !== 'aws', {
      error: 'cloud engines are not supported: must be `vosk` or `sherpa`, which run on the media nodes',
      abort: true,
    })
    .pipe(ENGINES.schema),
}

/** Cluster, autoscaling and statistics. */
export const CLUSTER = {
  SERVICE_SERVER_DEPENDENCY_VERSION: version('the server dependency'),
  MEDIASERVER_URIS: pending(strings, [], {
    meaning: 'List that `GET config` shows instead of the connected media nodes; media nodes register without it',
  }),
  SERVICE_PRO_STATS_MONITORING_INTERVAL: property('master', integer(0, DAY_S), {
    default: 10,
    unit: 's',
    restartable: true,
    meaning: 'Interval between the samples of CPU, memory, disk and network of the machines for metrics; 0: never',
  }),
  SERVICE_PRO_STATS_WEBRTC_INTERVAL: property('master', integer(0, DAY_S), {
    default: 30,
    unit: 's',
    restartable: true,
    meaning: 'Interval between the samples of media transports and tracks on media nodes for metrics; 0: never',
  }),
  SERVICE_PRO_CLUSTER_ID: property('master', text, {
    default: '',
    restartable: true,
    meaning: 'Name of the cluster in events; by default a random one, stored in the database',
  }),
  SERVICE_PRO_CLUSTER_ENVIRONMENT: property('master', choice('on_premise', 'process', 'kubernetes'), {
    default: 'on_premise',
    meaning:
      'Who starts and stops media nodes: the operator, the master as processes on its machine, or Kubernetes: as pods that the master makes from SERVICE_KUBERNETES_POD_TEMPLATE, or as pods of a Deployment',
  }),
  SERVICE_PRO_CLUSTER_MEDIA_NODES: property('master', integer(0, MAX_NODES), {
    default: 1,
    restartable: true,
    meaning: 'Number of media nodes that the first master starts; without effect with autoscaling or on premises',
  }),
  MEDIA_NODE_NATS_URL: property('master', urls('nats', 'tls'), {
    derived: { text: 'NATS_URL', from: ({ values }) => String(values.NATS_URL) },
    secret: true,
    meaning: 'NATS_URL, with the credentials of media nodes, for media nodes that the master starts',
  }),
  SERVICE_PRO_SESSION_RECOVERY: property('master', boolean, {
    default: true,
    meaning: 'Move sessions of a lost media node or worker to another one; if false, such sessions end',
  }),
  SERVICE_PRO_CLUSTER_PATH: pending(path, '/opt/service/cluster', {
    restartable: true,
    meaning: 'Folder of the cluster scripts',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Start and drain media nodes by load; on premises only report it by the event `autoscaling`',
  }),
  SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT: property('master', reconnection, {
    derived: {
      text: '30 with `kubernetes`, where a container restarts in its pod; else -1 on premises without autoscaling, else 3',
      from: ({ values }) => reconnectionTimeout(values),
    },
    unit: 's',
    meaning: 'Time after which a crashed media node that did not return is removed; -1: never',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES: property('master', integer(1, MAX_NODES), {
    default: 2,
    restartable: true,
    meaning: 'Maximum number of media nodes with autoscaling',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: property('master', integer(0, MAX_NODES), {
    default: 1,
    restartable: true,
    meaning: 'Minimum number of media nodes with autoscaling',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD: property('master', percent, {
    default: 70,
    unit: '% of processors',
    restartable: true,
    meaning: 'Average load above which autoscaling starts a media node; earlier when the forecast exceeds it by 10 %',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD: property('master', percent, {
    default: 20,
    unit: '% of processors',
    restartable: true,
    meaning:
      'Average load below which autoscaling drains a media node; above it only when the other nodes stay below the maximum load with a margin; 0: never drain',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_INTERVAL: property('master', integer(1, 3_600), {
    default: 10,
    unit: 's',
    meaning: 'Interval between decisions of autoscaling',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_COOLDOWN: property('master', integer(0, 86_400), {
    default: 300,
    unit: 's',
    meaning: 'Time for which the load must be low, without other changes, before a media node is drained',
  }),
  SERVICE_PRO_CLUSTER_LAUNCH_TIME: property('master', integer(1, 3_600), {
    default: 120,
    unit: 's',
    meaning:
      'Usual start time of a media node, by which autoscaling forecasts the load until it has measured launches of its own',
  }),
  SERVICE_PRO_CLUSTER_LAUNCH_TIMEOUT: property('master', integer(1, 86_400), {
    default: 180,
    unit: 's',
    meaning: 'Time after which the launch of a media node without a heartbeat counts as failed',
  }),
  SERVICE_PRO_NETWORK_QUALITY: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Measure the networks of publishers, and notify clients of changes of their quality',
  }),
  SERVICE_PRO_NETWORK_QUALITY_INTERVAL: property('master', integer(1, DAY_S), {
    default: 5,
    unit: 's',
    restartable: true,
    meaning: 'Interval between measurements of the network quality',
  }),
  SERVICE_PRO_SEARCH: property('master', boolean, {
    default: false,
    meaning: 'Send events and summaries of sessions to a search server, OpenSearch or a compatible one',
  }),
  SERVICE_PRO_SEARCH_HOST: property('master', urlWithoutUserinfo('SEARCH_USERNAME and SEARCH_PASSWORD'), {
    default: '',
    meaning: 'URL of the search server; mandatory when SERVICE_PRO_SEARCH is true',
  }),
  SEARCH_USERNAME: property('master', text, { default: '', meaning: 'User name for the search server' }),
  SEARCH_PASSWORD: property('master', text, {
    default: '',
    secret: true,
    meaning: 'Password for the search server',
  }),
  SERVICE_PRO_SEARCH_VERSION: version('the search server'),
  SERVICE_PRO_DASHBOARD: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Serve the dashboard for operators at `/service/dashboard/`',
  }),
  SERVICE_PRO_DASHBOARD_HOST: property('master', baseUrl('http', 'https'), {
    default: '',
    meaning: 'URL of another dashboard, to which the dashboard links',
  }),
  SERVICE_PRO_DASHBOARD_VERSION: version('the dashboard'),
  SERVICE_PRO_SPEECH_TO_TEXT: property('master', speechEngine, {
    default: 'disabled',
    meaning:
      'Engine for speech to text, which runs on the media nodes; cloud engines (`azure`, `aws`) are not supported',
  }),
  SERVICE_PRO_SPEECH_TO_TEXT_MODEL_LOAD_STRATEGY: property('master', choice('on_demand', 'manual'), {
    default: 'on_demand',
    meaning:
      'Who loads language models: the first subscription and the REST API (`on_demand`), or only the REST API (`manual`)',
  }),
  SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS: property('master', boolean, {
    default: false,
    meaning: 'Store recognized sentences in the database, as transcripts of sessions',
  }),
  SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS_RETENTION: property('master', integer(0, 36_500), {
    default: 30,
    unit: 'days',
    meaning: 'Time after which sentences of transcripts are deleted; 0: never',
  }),
  SERVICE_PRO_SPEECH_TO_TEXT_MODEL_UNLOAD_DELAY: property('master', integer(0, DAY_S), {
    default: 60,
    unit: 's',
    meaning: 'Time after the last subscription until `on_demand` unloads a language model',
  }),
}
