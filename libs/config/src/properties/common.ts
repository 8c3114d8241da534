import { property } from '../property.js'
import { address, choice, portOrFree, urls } from '../types.js'

export const COMMON = {
  NATS_URL: property('both', urls('nats', 'tls'), {
    default: 'nats://127.0.0.1:4222',
    secret: true,
    meaning: 'Where the message bus is; user and password may be part of the URL',
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
