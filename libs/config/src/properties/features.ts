import { property } from '../property.js'
import {
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
} from '../types.js'

export const EVENT_NAMES = [
  'sessionCreated',
  'sessionDestroyed',
  'participantJoined',
  'participantLeft',
  'webrtcConnectionCreated',
  'webrtcConnectionDestroyed',
  'recordingStatusChanged',
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

/** Servers of the lineage know these too: lists that name them are taken over as they are. */
const NEVER_SENT = ['HANodeRegistered', 'HANodeDeregistered'] as const

/** 1 PiB. */
const MAX_MIB = 1_073_741_824

/** Recording, call records and webhook. */
export const FEATURES = {
  SERVICE_CDR: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Whether a call detail record is written',
  }),
  SERVICE_CDR_PATH: property('master', path, {
    default: '/opt/service/cdr',
    meaning: 'Folder of the call detail records',
  }),
  SERVICE_RECORDING: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Whether sessions can be recorded',
  }),
  SERVICE_RECORDING_VERSION: property('master', text, {
    default: '',
    pending: true,
    meaning: 'Version of the recording module as `GET config` shows it',
  }),
  SERVICE_RECORDING_PATH: property('both', path, {
    default: '/opt/service/recordings',
    restartable: true,
    meaning: 'Folder of the recordings',
  }),
  SERVICE_RECORDING_FREE_SPACE: property('master', integer(0, MAX_MIB), {
    default: 256,
    unit: 'MiB',
    meaning: 'No recording is started while less is free in SERVICE_RECORDING_PATH',
  }),
  SERVICE_RECORDING_UPLOAD_URL: property('master', url('http', 'https'), {
    derived: { text: 'SERVICE_PUBLICURL', from: ({ values }) => String(values.SERVICE_PUBLICURL) },
    meaning: 'How media nodes reach masters: to deliver recordings where they do not share a disk, to open layouts',
  }),
  SERVICE_RECORDING_PUBLIC_ACCESS: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Whether recordings can be fetched without credentials',
  }),
  SERVICE_RECORDING_NOTIFICATION: property('master', choice('all', 'publisher_moderator', 'moderator', 'none'), {
    default: 'publisher_moderator',
    restartable: true,
    meaning: 'Which roles are told that a recording started or stopped',
  }),
  SERVICE_RECORDING_CUSTOM_LAYOUT: property('both', path, {
    default: '/opt/service/custom-layout',
    restartable: true,
    meaning: 'Folder of the custom recording layouts, which masters serve to recorders',
  }),
  SERVICE_RECORDING_LAYOUT_HOSTS: property('master', hosts, {
    default: [],
    meaning: 'Hosts, `name` or `name:port`, whose pages may be recorded as a custom layout by their address',
  }),
  SERVICE_RECORDING_AUTOSTOP_TIMEOUT: property('master', integer(0, 604_800), {
    default: 120,
    unit: 's',
    restartable: true,
    meaning: 'How long a recording waits in an empty session before it stops; 0 stops it at once',
  }),
  SERVICE_WEBHOOK: property('master', boolean, {
    default: false,
    restartable: true,
    meaning: 'Whether events are posted to SERVICE_WEBHOOK_ENDPOINT',
  }),
  SERVICE_WEBHOOK_ENDPOINT: property('master', url('http', 'https'), {
    default: '',
    restartable: true,
    meaning: 'Where events are posted; mandatory when SERVICE_WEBHOOK is true',
  }),
  SERVICE_WEBHOOK_HEADERS: property('master', headerLines, {
    default: [],
    secret: true,
    restartable: true,
    meaning: 'Headers of every event posted',
  }),
  SERVICE_WEBHOOK_EVENTS: property('master', namesOf('event', [...EVENT_NAMES, ...NEVER_SENT]), {
    default: [...EVENT_NAMES],
    restartable: true,
    meaning: 'Events that are posted',
  }),
  SERVICE_WEBHOOK_SECRETS: property('master', webhookSecrets, {
    default: [],
    secret: true,
    meaning: 'Keys that sign what is posted, each `whsec_` and base64; while one is replaced by another, both',
  }),
  SERVICE_WEBHOOK_ALLOWED_ADDRESSES: property('master', hostsOrNetworks, {
    default: [],
    meaning:
      'Private, loopback or link-local receivers that may be posted to: addresses, networks (CIDR) or host names',
  }),
  SERVICE_WEBHOOK_CA_FILE: property('master', path, {
    default: '',
    meaning: 'PEM file of certificate authorities that the receiver may use beside the public ones',
  }),
  SERVICE_WEBHOOK_TIMEOUT: property('master', integer(100, 60_000), {
    default: 10_000,
    unit: 'ms',
    meaning: 'How long one attempt to post an event may take',
  }),
  SERVICE_WEBHOOK_PARALLEL: property('master', integer(1, 256), {
    default: 16,
    meaning: 'Events of different sessions that one master posts at the same time',
  }),
  SERVICE_WEBHOOK_FIRST_RETRY: property('master', integer(10, 86_400_000), {
    default: 1_000,
    unit: 'ms',
    meaning: 'Delay after the first attempt that failed; it doubles with each further one',
  }),
  SERVICE_WEBHOOK_LONGEST_RETRY: property('master', integer(10, 86_400_000), {
    default: 900_000,
    unit: 'ms',
    meaning: 'Longest delay between two attempts',
  }),
  SERVICE_WEBHOOK_GIVE_UP_AFTER: property('master', integer(1, 31_536_000), {
    default: 86_400,
    unit: 's',
    meaning: 'Age at which an event that cannot be posted becomes a dead letter',
  }),
  SERVICE_WEBHOOK_KEEP_DEAD: property('master', integer(1, 3_650), {
    default: 30,
    unit: 'days',
    meaning: 'How long dead letters are kept',
  }),
}
