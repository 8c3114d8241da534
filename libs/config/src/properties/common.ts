import { property } from '../property.js'
import { address, choice, portOrFree, textMatching, urls } from '../types.js'

export const COMMON = {
  NATS_URL: property('both', urls('nats', 'tls'), {
    default: 'nats://127.0.0.1:4222',
    secret: true,
    meaning: 'Where the message bus is; user and password may be part of the URL',
  }),
  SERVICE_BUS_CLUSTER: property('both', textMatching(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 letters, digits, "-" and "_"'), {
    default: 'default',
    meaning:
      'Cluster that this process belongs to on the message bus, the same for all its masters and media nodes; clusters that share a bus server need different ones',
  }),
  SERVICE_LOG_LEVEL: property('both', choice('fatal', 'error', 'warn', 'info', 'debug', 'trace'), {
    default: 'info',
    meaning: 'The least important lines that are still logged',
  }),
  SERVICE_LOG_FORMAT: property('both', choice('json', 'pretty'), {
    default: 'json',
    meaning: 'One JSON object a line for machines, or text for people',
  }),
  SERVICE_OPS_HOST: property('both', address, {
    default: '0.0.0.0',
    meaning: 'Listen address of the probes and metrics, which need no credentials: keep it inside',
  }),
  SERVICE_OPS_PORT: property('both', portOrFree, {
    derived: {
      text: '4480 for a master, 4481 for a media node',
      from: ({ process }) => (process === 'master' ? 4480 : 4481),
    },
    meaning: 'Port of `/healthz`, `/readyz` and `/metrics`',
  }),
}
