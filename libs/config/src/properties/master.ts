import { iceServers } from '../ice-servers.js'
import { property, type Known } from '../property.js'
import { address, boolean, choice, integer, paths, port, strings, textMatching, url } from '../types.js'

const publicUrl = ({ values }: Known): URL => new URL(String(values.SERVICE_PUBLICURL))

/** 10 Gbit/s. */
const MAX_KBPS = 10_000_000
const YEAR_S = 31_536_000

type MaxBandwidth = 'SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH' | 'SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH'
const kbps = integer(0, MAX_KBPS)
const bandwidth = { unit: 'kbps', restartable: true }

const maxBandwidth = (meaning: string) =>
  property('master', kbps, { default: 1000, ...bandwidth, meaning: `${meaning}; 0 means unconstrained` })

const DEFAULT_MIN_KBPS = 300
const minBandwidth = (max: MaxBandwidth, meaning: string) =>
  property('master', kbps, {
    // A lower maximum alone must be a valid configuration.
    derived: {
      text: `\`${DEFAULT_MIN_KBPS}\`, or ${max} when that is lower`,
      from: ({ values }) => Math.min(DEFAULT_MIN_KBPS, Number(values[max]) || DEFAULT_MIN_KBPS),
    },
    ...bandwidth,
    meaning: `${meaning}; 0 means unconstrained`,
  })

/** What a master cannot do without, and what clients get from it. */
export const MASTER = {
  SERVICE_SECRET: property(
    'master',
    textMatching(/^[A-Za-z0-9_-]{1,1024}$/, 'up to 1024 letters, digits, "-" and "_"'),
    {
      mandatory: true,
      secret: true,
      restartable: true,
      meaning: 'Password of the user SERVICEAPP in the REST API',
    },
  ),
  DATABASE_URL: property('master', url('postgres', 'postgresql'), {
    mandatory: true,
    secret: true,
    meaning: 'Postgres database of the service',
  }),
  SERVICE_EDITION: property('master', choice('ce', 'pro', 'enterprise'), {
    default: 'pro',
    meaning: 'Which operations exist: `ce` has no paid ones; `enterprise` is for several masters',
  }),
  SERVICE_HOST: property('master', address, { default: '0.0.0.0', meaning: 'Listen address of REST and signalling' }),
  SERVICE_PORT: property('master', port, { default: 4443, meaning: 'Port of REST and signalling' }),
  SERVICE_PUBLICURL: property('master', url('http', 'https'), {
    derived: {
      text: '`http://localhost:<SERVICE_PORT>`',
      from: ({ values }) => `http://localhost:${String(values.SERVICE_PORT)}`,
    },
    meaning: 'How clients reach this service; tokens and recording URLs begin with it',
  }),
  SERVICE_CORS_ORIGINS: property('master', strings, {
    default: ['*'],
    meaning:
      'Origins whose pages may call the service from a browser; `*` lets all of them read, and only named ones change something',
  }),
  SERVICE_TRUSTED_PROXIES: property('master', strings, {
    default: [],
    meaning: 'Addresses or networks of proxies whose `X-Forwarded-For` is believed, to know where a request comes from',
  }),
  SERVICE_RESTART_PATHS: property('master', paths, {
    default: [],
    meaning:
      'Folders below which `POST restart` may put a path, beside the folder that the environment gives to that path itself',
  }),
  DOMAIN_OR_PUBLIC_IP: property('master', address, {
    derived: { text: 'the host of SERVICE_PUBLICURL', from: (known) => publicUrl(known).hostname },
    meaning: 'Public host as `GET config` shows it',
  }),
  HTTPS_PORT: property('master', port, {
    derived: {
      text: 'the port of SERVICE_PUBLICURL',
      from: (known) => Number(publicUrl(known).port || (publicUrl(known).protocol === 'https:' ? 443 : 80)),
    },
    meaning: 'Public port as `GET config` shows it',
  }),
  SERVICE_SHUTDOWN_DELAY: property('master', integer(0, 20), {
    default: 0,
    unit: 's',
    meaning: 'How long a master that is to end still answers, not ready any more, so that balancers notice first',
  }),
  SUPPORT_DEPRECATED_API: property('master', boolean, {
    default: true,
    meaning: 'Whether the old paths of the REST API answer',
  }),
  SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: maxBandwidth('The most video the service sends to a subscriber'),
  SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH: minBandwidth(
    'SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH',
    'The least video the service sends to a subscriber',
  ),
  SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH: maxBandwidth('The most video the service takes from a publisher'),
  SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH: minBandwidth(
    'SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH',
    'The least video the service asks of a publisher',
  ),
  SERVICE_STREAMS_FORCED_VIDEO_CODEC: property(
    'master',
    choice('VP8', 'VP9', 'H264', 'NONE', 'MEDIA_SERVER_PREFERRED'),
    {
      default: 'VP8',
      meaning: 'Video codec of sessions created without `forcedVideoCodec`',
    },
  ),
  SERVICE_STREAMS_ALLOW_TRANSCODING: property('master', boolean, {
    default: false,
    pending: true,
    meaning: '`allowTranscoding` of sessions created without it',
  }),
  SERVICE_SESSIONS_GARBAGE_INTERVAL: property('master', integer(0, YEAR_S), {
    default: 900,
    unit: 's',
    restartable: true,
    meaning: 'Interval of the search for unused sessions; 0 turns it off',
  }),
  SERVICE_SESSIONS_GARBAGE_THRESHOLD: property('master', integer(0, YEAR_S), {
    default: 3600,
    unit: 's',
    restartable: true,
    meaning: 'Age from which an unused session is closed',
  }),
  SERVICE_WEBRTC_SIMULCAST: property('master', boolean, {
    default: true,
    meaning: 'Whether cameras send several qualities so that each subscriber gets what its line carries',
  }),
  SERVICE_WEBRTC_ICE_SERVERS: property('master', iceServers, {
    default: [],
    secret: true,
    meaning: 'STUN and TURN servers handed to clients whose connection has none of its own',
  }),
}
