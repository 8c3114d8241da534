import { property } from '../property/property.js'
import {
  address,
  choice,
  headerLines,
  portOrFree,
  share,
  textMatching,
  urls,
  urlWithoutUserinfo,
} from '../property/types.js'

export const COMMON = {
  NATS_URL: property('both', urls('nats', 'tls'), {
    default: 'nats://127.0.0.1:4222',
    secret: true,
    meaning: 'URL of the NATS message bus, with user and password if needed',
  }),
  SERVICE_BUS_CLUSTER: property('both', textMatching(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 letters, digits, "-" and "_"'), {
    default: 'default',
    meaning:
      'Name of the cluster on the message bus: the same for all masters and media nodes of a cluster, different for clusters that share a NATS server',
  }),
  SERVICE_LOG_LEVEL: property('both', choice('fatal', 'error', 'warn', 'info', 'debug', 'trace'), {
    default: 'info',
    meaning: 'Lowest level that is logged',
  }),
  SERVICE_LOG_FORMAT: property('both', choice('json', 'pretty'), {
    default: 'json',
    meaning: 'Log format: one JSON object per line, or readable text',
  }),
  SERVICE_TRACING_ENDPOINT: property('both', urlWithoutUserinfo('SERVICE_TRACING_HEADERS'), {
    default: '',
    meaning: 'URL of an OTLP/HTTP collector that gets spans, without `/v1/traces`; empty: no tracing',
  }),
  SERVICE_TRACING_HEADERS: property('both', headerLines, {
    default: [],
    secret: true,
    meaning: 'Additional headers of requests to the collector',
  }),
  SERVICE_TRACING_SAMPLING: property('both', share, {
    default: 100,
    unit: '%',
    meaning: 'Share of new traces that are recorded; a trace of a caller is recorded when the caller records it',
  }),
  SERVICE_RUN_AS: property(
    'both',
    textMatching(
      /^(?:[A-Za-z_][\w.-]{0,63}\$?|\d{1,10}(?::\d{1,10})?)$/,
      'the name of an account, a uid, or `uid:gid`',
    ),
    {
      default: '',
      meaning:
        'Account that a process started as root switches to once it has bound privileged ports and created its folders; empty: no switch',
    },
  ),
  SERVICE_OPS_HOST: property('both', address, {
    default: '0.0.0.0',
    meaning: 'Listen address of probes and metrics; they need no credentials, so use an internal network',
  }),
  SERVICE_OPS_PORT: property('both', portOrFree, {
    derived: {
      text: '4480 for a master, 4481 for a media node',
      from: ({ process }) => (process === 'master' ? 4480 : 4481),
    },
    meaning: 'Port of `/healthz`, `/readyz` and `/metrics`',
  }),
}
