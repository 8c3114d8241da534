import { apiSecrets } from '../property/api-secrets.js'
import { iceServers } from '../property/ice-servers.js'
import { origins, proxies } from '../property/network.js'
import { property, type Known } from '../property/property.js'
import { address, baseUrl, boolean, choice, integer, paths, port, textMatching } from '../property/types.js'

const publicUrl = ({ values }: Known): URL => new URL(String(values.SERVICE_PUBLICURL))

/** 10 Gbit/s. */
const MAX_KBPS = 10_000_000
const YEAR_S = 31_536_000

/** A segment that starts a path of the service itself cannot be the prefix of another interface. */
const compatPrefix = textMatching(
  /^(?!(?:api|config|dashboard|service)$)(?:[a-z][a-z0-9-]{0,31})?$/,
  'up to 32 lowercase letters, digits and "-", starting with a letter, and none of api, config, dashboard, service',
)

type MaxBandwidth = 'SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH' | 'SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH'
const kbps = integer(0, MAX_KBPS)
const bandwidth = { unit: 'kbps', restartable: true }

const maxBandwidth = (meaning: string) =>
  property('master', kbps, { default: 1000, ...bandwidth, meaning: `${meaning}; 0: unlimited` })

const DEFAULT_MIN_KBPS = 300
const minBandwidth = (max: MaxBandwidth, meaning: string) =>
  property('master', kbps, {
    // Setting only a maximum below 300 must be a valid configuration.
    derived: {
      text: `\`${DEFAULT_MIN_KBPS}\`, or ${max} when that is lower`,
      from: ({ values }) => Math.min(DEFAULT_MIN_KBPS, Number(values[max]) || DEFAULT_MIN_KBPS),
    },
    ...bandwidth,
    meaning: `${meaning}; 0: no minimum`,
  })

/** Access to the master, limits of media, and unused sessions. */
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
  SERVICE_SECRET_PREVIOUS: property(
    'master',
    textMatching(/^[A-Za-z0-9_-]{0,1024}$/, 'up to 1024 letters, digits, "-" and "_"'),
    {
      default: '',
      secret: true,
      restartable: true,
      meaning:
        'SERVICE_SECRET before its last change: stays valid beside it in the REST API, and for everything that was signed with it; empty: none',
    },
  ),
  SERVICE_API_SECRETS: property('master', apiSecrets, {
    default: [],
    secret: true,
    meaning: 'Further passwords of the user SERVICEAPP, each with a name and a role',
  }),
  DATABASE_URL: property('master', baseUrl('postgres', 'postgresql'), {
    mandatory: true,
    secret: true,
    meaning: 'URL of the Postgres database',
  }),
  SERVICE_MIGRATE_AT_START: property('master', boolean, {
    default: true,
    meaning:
      'Bring the schema of the database up to date at the start; if false, the master is not ready until the command `migrate` has done so',
  }),
  SERVICE_EDITION: property('master', choice('ce', 'pro', 'enterprise'), {
    default: 'pro',
    meaning: 'Edition: `ce` disables paid operations; `enterprise` always shows health in the form for several masters',
  }),
  SERVICE_HOST: property('master', address, {
    default: '0.0.0.0',
    meaning: 'Listen address of the REST API and signalling',
  }),
  SERVICE_PORT: property('master', port, { default: 4443, meaning: 'Port of the REST API and signalling' }),
  SERVICE_PUBLICURL: property('master', baseUrl('http', 'https'), {
    derived: {
      text: '`http://localhost:<SERVICE_PORT>`',
      from: ({ values }) => `http://localhost:${String(values.SERVICE_PORT)}`,
    },
    meaning: 'Public URL of the service; prefix of tokens and recording URLs',
  }),
  SERVICE_CORS_ORIGINS: property('master', origins, {
    default: ['*'],
    meaning:
      'Origins whose pages may call the REST API from a browser; `*` allows every origin to read, only named origins may change data',
  }),
  SERVICE_TRUSTED_PROXIES: property('master', proxies, {
    default: [],
    meaning: 'Addresses or networks of proxies whose `X-Forwarded-For` header is trusted',
  }),
  SERVICE_RESTART_PATHS: property('master', paths, {
    default: [],
    meaning:
      'Folders in which `POST restart` may place a path property, in addition to the folder that the environment names for the property',
  }),
  DOMAIN_OR_PUBLIC_IP: property('master', address, {
    derived: { text: 'the host of SERVICE_PUBLICURL', from: (known) => publicUrl(known).hostname },
    meaning: 'Public host name, shown by `GET config`',
  }),
  HTTPS_PORT: property('master', port, {
    derived: {
      text: 'the port of SERVICE_PUBLICURL',
      from: (known) => Number(publicUrl(known).port || (publicUrl(known).protocol === 'https:' ? 443 : 80)),
    },
    meaning: 'Public port, shown by `GET config`',
  }),
  SERVICE_SHUTDOWN_DELAY: property('master', integer(0, 20), {
    default: 0,
    unit: 's',
    meaning:
      'Time between SIGTERM and closing, during which the master is not ready but still answers, so that load balancers can react',
  }),
  SUPPORT_DEPRECATED_API: property('master', boolean, {
    default: true,
    meaning: 'Serve the deprecated paths of the REST API',
  }),
  SERVICE_COMPAT_PREFIX: property('master', compatPrefix, {
    default: '',
    meaning:
      'First segment of the paths that the SDKs and the browser library of version 2 call; serves these clients unmodified, in REST and signalling; empty: off',
  }),
  SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: maxBandwidth(
    'Maximum video bandwidth that a subscriber receives per stream',
  ),
  SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH: minBandwidth(
    'SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH',
    'Minimum bandwidth estimate for the video that a subscriber receives',
  ),
  SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH: maxBandwidth('Maximum video bandwidth that a publisher sends per stream'),
  SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH: minBandwidth(
    'SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH',
    "Minimum bitrate of a publisher's video encoder",
  ),
  SERVICE_STREAMS_FORCED_VIDEO_CODEC: property(
    'master',
    choice('VP8', 'VP9', 'H264', 'NONE', 'MEDIA_SERVER_PREFERRED'),
    {
      default: 'VP8',
      meaning: 'Default of `forcedVideoCodec` of sessions',
    },
  ),
  SERVICE_STREAMS_ALLOW_TRANSCODING: property('master', boolean, {
    default: false,
    meaning: 'Default of `allowTranscoding` of sessions: transcode the video of clients that lack the forced codec',
  }),
  SERVICE_SESSIONS_GARBAGE_INTERVAL: property('master', integer(0, YEAR_S), {
    default: 900,
    unit: 's',
    restartable: true,
    meaning: 'Interval between deletions of unused sessions; 0: never',
  }),
  SERVICE_SESSIONS_GARBAGE_THRESHOLD: property('master', integer(0, YEAR_S), {
    default: 3600,
    unit: 's',
    restartable: true,
    meaning: 'Age at which a session that was never joined is deleted',
  }),
  SERVICE_WEBRTC_SIMULCAST: property('master', boolean, {
    default: true,
    meaning:
      'Publish cameras in several qualities (simulcast), so that each subscriber receives one that fits its bandwidth',
  }),
  SERVICE_WEBRTC_ICE_SERVERS: property('master', iceServers, {
    default: [],
    secret: true,
    meaning: 'STUN and TURN servers of connections without `customIceServers`',
  }),
}
