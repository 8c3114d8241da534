import { z } from 'zod'
import { property, type PropertyType } from '../property.js'
import { boolean, choice, integer, path, percent, strings, text, urls } from '../types.js'

const DAY_S = 86_400
const MAX_NODES = 1_000

interface Details {
  meaning: string
  unit?: string
  restartable?: boolean
}
/** Nothing in this version acts on these: they are read, checked and shown. */
const pending = <T>(type: PropertyType<T>, value: NoInfer<T>, details: Details) =>
  property('master', type, { default: value, pending: true, ...details })
const version = (of: string) => pending(text, '', { meaning: `Version of ${of} as \`GET config\` shows it` })

const reconnection: PropertyType<number> = {
  label: `-1, or an integer from 3 to ${DAY_S}`,
  schema: z
    .string()
    .regex(/^-?\d+$/, `must be -1, or an integer from 3 to ${DAY_S}`)
    .transform(Number)
    .refine((value) => value === -1 || (value >= 3 && value <= DAY_S), `must be -1, or an integer from 3 to ${DAY_S}`),
  show: String,
}

/** Cluster, autoscaling and statistics. */
export const CLUSTER = {
  SERVICE_SERVER_DEPENDENCY_VERSION: version('the server dependency'),
  MEDIASERVER_URIS: pending(strings, [], {
    meaning: 'Shown by `GET config` in place of the addresses of the connected media nodes, which need no entry',
  }),
  SERVICE_PRO_STATS_MONITORING_INTERVAL: pending(integer(0, DAY_S), 10, {
    unit: 's',
    restartable: true,
    meaning: 'How often load figures of the machines are taken; 0 means never',
  }),
  SERVICE_PRO_STATS_WEBRTC_INTERVAL: pending(integer(0, DAY_S), 30, {
    unit: 's',
    restartable: true,
    meaning: 'How often figures of the media transports are taken; 0 means never',
  }),
  SERVICE_PRO_CLUSTER_ID: property('master', text, {
    default: '',
    restartable: true,
    meaning: 'Name of the cluster in events; one that is drawn and kept in the database unless given',
  }),
  SERVICE_PRO_CLUSTER_ENVIRONMENT: property('master', choice('on_premise', 'process', 'kubernetes'), {
    default: 'on_premise',
    meaning:
      'What starts and ends media nodes: the operator, the master as processes on its own machine, or Kubernetes (not in this version)',
  }),
  SERVICE_PRO_CLUSTER_MEDIA_NODES: property('master', integer(0, MAX_NODES), {
    default: 1,
    restartable: true,
    meaning: 'Media nodes that the first master starts, without autoscaling and not on premises',
  }),
  MEDIA_NODE_NATS_URL: property('master', urls('nats', 'tls'), {
    derived: { text: 'NATS_URL', from: ({ values }) => String(values.NATS_URL) },
    secret: true,
    meaning: 'NATS_URL of the media nodes that the master starts, with the credentials of a media node',
  }),
  SERVICE_PRO_SESSION_RECOVERY: property('master', boolean, {
    default: true,
    meaning: 'Whether sessions of a lost media node or worker go on elsewhere; else they end with its loss',
  }),
  SERVICE_PRO_CLUSTER_PATH: pending(path, '/opt/service/cluster', {
    restartable: true,
    meaning: 'Folder of the cluster scripts',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Whether media nodes are started and ended by load; on premises the operator is told to',
  }),
  SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT: property('master', reconnection, {
    derived: {
      text: '-1 on premises without autoscaling, else 3',
      from: ({ values }) =>
        values.SERVICE_PRO_CLUSTER_ENVIRONMENT === 'on_premise' && !values.SERVICE_PRO_CLUSTER_AUTOSCALING ? -1 : 3,
    },
    unit: 's',
    meaning: 'Time after which a crashed media node that did not return is given up; -1 means never',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES: property('master', integer(1, MAX_NODES), {
    default: 2,
    restartable: true,
    meaning: 'The most media nodes autoscaling starts',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: property('master', integer(0, MAX_NODES), {
    default: 1,
    restartable: true,
    meaning: 'The media nodes autoscaling leaves running',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD: property('master', percent, {
    default: 70,
    unit: '% of processors',
    restartable: true,
    meaning: 'Average load above which a media node is started, or before a trend leads there',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD: property('master', percent, {
    default: 20,
    unit: '% of processors',
    restartable: true,
    meaning:
      'Average load below which a media node is ended; above it one goes when the others can easily do its work; 0 means that none goes',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_INTERVAL: property('master', integer(1, 3_600), {
    default: 10,
    unit: 's',
    meaning: 'How often autoscaling decides',
  }),
  SERVICE_PRO_CLUSTER_AUTOSCALING_COOLDOWN: property('master', integer(0, 86_400), {
    default: 300,
    unit: 's',
    meaning: 'How long a load must have been low, and nothing changed, before a media node is ended',
  }),
  SERVICE_PRO_CLUSTER_LAUNCH_TIME: property('master', integer(1, 3_600), {
    default: 120,
    unit: 's',
    meaning: 'How long a media node usually takes to start: autoscaling looks so far ahead',
  }),
  SERVICE_PRO_CLUSTER_LAUNCH_TIMEOUT: property('master', integer(1, 86_400), {
    default: 180,
    unit: 's',
    meaning: 'A media node that was launched and has not been heard after so long has failed',
  }),
  SERVICE_PRO_NETWORK_QUALITY: pending(boolean, false, {
    restartable: true,
    meaning: 'Whether clients are told the quality of their network',
  }),
  SERVICE_PRO_NETWORK_QUALITY_INTERVAL: pending(integer(1, DAY_S), 5, {
    unit: 's',
    restartable: true,
    meaning: 'How often the quality of the network is worked out',
  }),
  SERVICE_PRO_SEARCH: pending(boolean, false, { meaning: 'Whether events and figures go to a search server' }),
  SERVICE_PRO_SEARCH_HOST: pending(text, '', { meaning: 'Address of the search server' }),
  SERVICE_PRO_SEARCH_VERSION: version('the search server'),
  SERVICE_PRO_DASHBOARD: pending(boolean, false, { meaning: 'Whether there is a dashboard on the search server' }),
  SERVICE_PRO_DASHBOARD_HOST: pending(text, '', { meaning: 'Address of that dashboard' }),
  SERVICE_PRO_DASHBOARD_VERSION: version('that dashboard'),
  SERVICE_PRO_SPEECH_TO_TEXT: pending(choice('disabled', 'vosk'), 'disabled', {
    meaning: 'Which engine turns speech into text',
  }),
}
