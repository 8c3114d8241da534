import { property } from '../property/property.js'
import {
  baseUrl,
  boolean,
  choice,
  headerLines,
  hosts,
  hostsOrNetworks,
  integer,
  namesOf,
  path,
  text,
  url,
  webhookSecrets,
} from '../property/types.js'

export const EVENT_NAMES = [
  'sessionCreated',
  'sessionDestroyed',
  'participantJoined',
  'participantLeft',
  'webrtcConnectionCreated',
  'webrtcConnectionDestroyed',
  'recordingStatusChanged',
  'recordingRemovalAnnounced',
  'recordingRemoved',
  'filterEventDispatched',
  'signalSent',
  'mediaNodeStatusChanged',
  'autoscaling',
  'configurationRolledBack',
  'nodeCrashed',
  'nodeRecovered',
  'broadcastStarted',
  'broadcastStopped',
] as const

/** Events that are posted only where the property names them. */
const OPT_IN = ['transcriptReady'] as const

/** Events of servers with the same interface that this one never sends: existing configurations may name them. */
const NEVER_SENT = ['HANodeRegistered', 'HANodeDeregistered'] as const

/** 1 PiB. */
const MAX_MIB = 1_073_741_824

/** Recording, call records and webhook. */
export const FEATURES = {
  SERVICE_CDR: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Write call detail records',
  }),
  SERVICE_CDR_PATH: property('master', path, {
    default: '/opt/service/cdr',
    meaning: 'Folder of the call detail records',
  }),
  SERVICE_HISTORY: property('master', boolean, {
    default: false,
    meaning: 'Keep summaries of ended sessions in the database, for `GET history/sessions`',
  }),
  SERVICE_HISTORY_RETENTION: property('master', integer(0, 36_500), {
    default: 30,
    unit: 'days',
    meaning: 'Time after which ended sessions are deleted from the history; 0: never',
  }),
  SERVICE_RECORDING: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Enable recording',
  }),
  SERVICE_RECORDING_VERSION: property('master', text, {
    default: '',
    pending: true,
    meaning: 'Version of the recording module, shown by `GET config`',
  }),
  SERVICE_RECORDING_PATH: property('both', path, {
    default: '/opt/service/recordings',
    restartable: true,
    meaning: 'Folder of the recordings',
  }),
  SERVICE_RECORDING_FREE_SPACE: property('master', integer(0, MAX_MIB), {
    default: 256,
    unit: 'MiB',
    meaning: 'Free space in SERVICE_RECORDING_PATH below which no recording starts',
  }),
  SERVICE_RECORDING_UPLOAD_URL: property('master', baseUrl('http', 'https'), {
    derived: { text: 'SERVICE_PUBLICURL', from: ({ values }) => String(values.SERVICE_PUBLICURL) },
    meaning: 'URL of masters for media nodes: for uploads of recordings without a shared disk and for custom layouts',
  }),
  SERVICE_RECORDING_COMPOSITION: property('master', choice('live', 'deferred'), {
    default: 'live',
    restartable: true,
    meaning:
      'When composed recordings are composed: live, or after their end with idle processor time (not `CUSTOM` layouts)',
  }),
  SERVICE_RECORDING_PUBLIC_ACCESS: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Serve recordings without credentials',
  }),
  SERVICE_RECORDING_NOTIFICATION: property('master', choice('all', 'publisher_moderator', 'moderator', 'none'), {
    default: 'publisher_moderator',
    restartable: true,
    meaning: 'Roles whose clients are notified when a recording starts or stops',
  }),
  SERVICE_RECORDING_CUSTOM_LAYOUT: property('both', path, {
    default: '/opt/service/custom-layout',
    restartable: true,
    meaning: 'Folder of custom recording layouts; masters serve it to media nodes',
  }),
  SERVICE_RECORDING_LAYOUT_HOSTS: property('master', hosts, {
    default: [],
    meaning: 'Hosts, `name` or `name:port`, whose pages `customLayout` may name by URL',
  }),
  SERVICE_RECORDING_AUTOSTOP_TIMEOUT: property('master', integer(0, 604_800), {
    default: 120,
    unit: 's',
    restartable: true,
    meaning: 'Time after which a recording of an empty session stops; 0: immediately',
  }),
  SERVICE_IPCAM_ALLOWED_ADDRESSES: property('master', hostsOrNetworks, {
    default: [],
    meaning:
      'Loopback, link-local and metadata addresses of IP cameras to allow: addresses, networks (CIDR) or host names',
  }),
  SERVICE_LOG_EVENTS: property('master', boolean, {
    default: false,
    meaning: 'Log each change of sessions, participants, recordings and media nodes; of streams with the level `debug`',
  }),
  SERVICE_WEBHOOK: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Post events to SERVICE_WEBHOOK_ENDPOINT',
  }),
  SERVICE_WEBHOOK_ENDPOINT: property('master', url('http', 'https'), {
    default: '',
    restartable: true,
    meaning: 'URL that receives events; mandatory when SERVICE_WEBHOOK is true',
  }),
  SERVICE_WEBHOOK_HEADERS: property('master', headerLines, {
    default: [],
    secret: true,
    restartable: true,
    meaning: 'Additional headers of webhook requests',
  }),
  SERVICE_WEBHOOK_EVENTS: property('master', namesOf('event', [...EVENT_NAMES, ...OPT_IN, ...NEVER_SENT]), {
    default: [...EVENT_NAMES],
    restartable: true,
    meaning: 'Names of the events to post; `transcriptReady` is posted only when it is named here',
  }),
  SERVICE_WEBHOOK_SECRETS: property('master', webhookSecrets, {
    default: [],
    secret: true,
    meaning:
      'Signing keys of webhook requests, each `whsec_` and base64; list the old and the new key during a rotation',
  }),
  SERVICE_WEBHOOK_ALLOWED_ADDRESSES: property('master', hostsOrNetworks, {
    default: [],
    meaning: 'Private, loopback or link-local webhook receivers to allow: addresses, networks (CIDR) or host names',
  }),
  SERVICE_WEBHOOK_CA_FILE: property('master', path, {
    default: '',
    meaning: 'PEM file of certificate authorities to trust for the receiver, in addition to the public ones',
  }),
  SERVICE_WEBHOOK_TIMEOUT: property('master', integer(100, 60_000), {
    default: 10_000,
    unit: 'ms',
    meaning: 'Timeout of one webhook request',
  }),
  SERVICE_WEBHOOK_PARALLEL: property('master', integer(1, 256), {
    default: 16,
    meaning: 'Maximum number of parallel webhook requests of one master; events of one session are never parallel',
  }),
  SERVICE_WEBHOOK_FIRST_RETRY: property('master', integer(10, 86_400_000), {
    default: 1_000,
    unit: 'ms',
    meaning: 'Back-off after the first failed attempt; doubled after each further one',
  }),
  SERVICE_WEBHOOK_LONGEST_RETRY: property('master', integer(10, 86_400_000), {
    default: 900_000,
    unit: 'ms',
    meaning: 'Maximum back-off between two attempts',
  }),
  SERVICE_WEBHOOK_GIVE_UP_AFTER: property('master', integer(1, 31_536_000), {
    default: 86_400,
    unit: 's',
    meaning: 'Age at which an undelivered event becomes a dead letter',
  }),
  SERVICE_WEBHOOK_KEEP_DEAD: property('master', integer(1, 3_650), {
    default: 30,
    unit: 'days',
    meaning: 'Retention time of dead letters',
  }),
}
