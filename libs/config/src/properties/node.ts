import { filterPipelines } from '../property/filter-pipelines.js'
import { property } from '../property/property.js'
import { boolean, choice, integer, path, portOrFree, textMatching } from '../property/types.js'
import { NODE_ADDRESS } from './node-address.js'

export const NODE = {
  MEDIA_NODE_ID: property('node', textMatching(/^[A-Za-z0-9_-]{0,64}$/, 'up to 64 letters, digits, "-" and "_"'), {
    default: '',
    meaning: 'Unique id of this media node; empty: random',
  }),
  ...NODE_ADDRESS,
  MEDIA_NODE_ENVIRONMENT_ID: property(
    'node',
    textMatching(/^[\w.:/-]{0,255}$/, 'up to 255 of letters, digits and ". : / -"'),
    {
      default: '',
      meaning:
        'Id of the machine in its environment, for example of the cloud instance; `environmentId` in the REST API',
    },
  ),
  MEDIA_NODE_JOIN: property('node', boolean, {
    default: true,
    meaning: 'Take sessions after registration; if false, only after the node was added by `POST media-nodes`',
  }),
  MEDIA_NODE_REST_AFTER: property('node', integer(0, 86_400), {
    default: 60,
    unit: 's',
    meaning:
      'Time without rooms, recordings and commands after which the node rests: heartbeats each 2 s instead of 0.5 s; 0: never',
  }),
  MEDIA_NODE_DRAIN_TIMEOUT: property('node', integer(0, 604_800), {
    default: 18_000,
    unit: 's',
    meaning: 'Maximum duration of a drain after SIGTERM; 0: do not wait for sessions',
  }),
  MEDIA_NODE_CONSUMERS_PER_ROUTER: property('node', integer(1, 100_000), {
    default: 400,
    meaning: 'Forwarded tracks of a session on one worker above which further participants use another worker',
  }),
  MEDIA_NODE_WORKERS: property('node', integer(0, 1024), {
    default: 0,
    meaning: 'Number of media workers, each using up to one processor core; 0: one per core',
  }),
  MEDIA_NODE_RTC_PORT: property('node', portOrFree, {
    default: 0,
    meaning: 'Port (UDP and TCP) of the first worker; further workers use the following ports; 0: free ports',
  }),
  MEDIA_NODE_RECORDING_PATH: property('node', path, {
    default: '/opt/service/recordings/.jobs',
    meaning: 'Local folder for recordings in progress; it must persist across restarts of the process',
  }),
  MEDIA_NODE_RECORDING_SLOTS: property('node', integer(0, 1000), {
    default: 0,
    meaning: 'Maximum number of concurrent recordings of this node; 0: by its processor cores',
  }),
  MEDIA_NODE_RECORDING_MIN_FREE: property('node', integer(0, 1_073_741_824), {
    default: 512,
    unit: 'MiB',
    meaning: 'Free space in MEDIA_NODE_RECORDING_PATH below which no recording starts and running recordings stop',
  }),
  MEDIA_NODE_RECORDING_FINISH_TIMEOUT: property('node', integer(0, 604_800), {
    default: 30,
    unit: 's',
    meaning:
      'How long a node goes on delivering its recordings after the deadline of its drain, when its sessions have moved',
  }),
  MEDIA_NODE_SPEECH_TO_TEXT_MODELS: property('node', path, {
    default: '/opt/service/speech-to-text/models',
    meaning: 'Folder of the language models: one folder for each language, such as `en-US`',
  }),
  MEDIA_NODE_SPEECH_TO_TEXT_SLOTS: property('node', integer(0, 1000), {
    default: 0,
    meaning: 'Maximum number of language models that this node loads at a time; 0: as many as fit into its memory',
  }),
  MEDIA_NODE_VOSK_LIBRARY: property('node', path, {
    default: '/usr/local/lib/libvosk.so',
    meaning: 'The library of the engine `vosk`',
  }),
  MEDIA_NODE_CAMERA_TRANSPORT: property('node', choice('auto', 'tcp', 'udp'), {
    default: 'auto',
    meaning: 'How media of RTSP cameras arrives; auto: over TCP, and over UDP where the camera refuses TCP',
  }),
  MEDIA_NODE_CAMERA_TIMEOUT: property('node', integer(500, 60_000), {
    default: 5_000,
    unit: 'ms',
    meaning: 'Time without media or an answer after which a camera has failed',
  }),
  MEDIA_NODE_CAMERA_TLS_VERIFY: property('node', boolean, {
    default: true,
    meaning: 'Verify the certificates of cameras (`rtsps`, `https`); if false, passwords can be intercepted',
  }),
  MEDIA_NODE_CAMERA_CA_FILE: property('node', path, {
    default: '',
    meaning:
      'PEM file of certificate authorities, or of self-signed certificates, to trust for cameras; empty: those of the system',
  }),
  MEDIA_NODE_CAMERA_FILES: property('node', path, {
    default: '',
    meaning: 'Folder whose files `file:` addresses of cameras may name; empty: no files',
  }),
  MEDIA_NODE_FILTER_PIPELINES: property('node', filterPipelines, {
    default: {},
    meaning:
      'Pipelines of GStreamer that `GStreamerFilter` may use: by name, the kind of track, the elements, and the properties that may be set as `element.property`',
  }),
}
