import { property } from '../property.js'
import { address, boolean, integer, path, portOrFree, textMatching } from '../types.js'

export const NODE = {
  MEDIA_NODE_ID: property('node', textMatching(/^[A-Za-z0-9_-]{0,64}$/, 'up to 64 letters, digits, "-" and "_"'), {
    default: '',
    meaning: 'Name of this media node, unlike any other; empty means a random one',
  }),
  MEDIA_NODE_IP: property('node', address, { default: '0.0.0.0', meaning: 'Address on which media is received' }),
  MEDIA_NODE_ANNOUNCED_ADDRESS: property('node', address, {
    default: '',
    meaning:
      'Address that clients are told to send media to; empty means MEDIA_NODE_IP when that is specific, else the first outside IPv4 address of the machine',
  }),
  MEDIA_NODE_ENVIRONMENT_ID: property(
    'node',
    textMatching(/^[\w.:/-]{0,255}$/, 'up to 255 of letters, digits and ". : / -"'),
    {
      default: '',
      meaning: 'What the surroundings call this machine: `environmentId` over REST',
    },
  ),
  MEDIA_NODE_JOIN: property('node', boolean, {
    default: true,
    meaning: 'Whether the node takes sessions as soon as masters hear it; else once it is added over REST',
  }),
  MEDIA_NODE_DRAIN_TIMEOUT: property('node', integer(0, 604_800), {
    default: 18_000,
    unit: 's',
    meaning: 'How long a node that was told to end (SIGTERM) waits for its sessions; 0 means not at all',
  }),
  MEDIA_NODE_CONSUMERS_PER_ROUTER: property('node', integer(1, 100_000), {
    default: 400,
    meaning: 'Tracks that one worker forwards for a session before another worker joins in',
  }),
  MEDIA_NODE_WORKERS: property('node', integer(0, 1024), {
    default: 0,
    meaning: 'Media workers, each using up to one processor core; 0 means one a core',
  }),
  MEDIA_NODE_RTC_PORT: property('node', portOrFree, {
    default: 0,
    meaning: 'Port (UDP and TCP) of the first worker, the others take the ones that follow; 0 means free ones',
  }),
  MEDIA_NODE_RECORDING_PATH: property('node', path, {
    default: '/opt/service/recordings/.jobs',
    meaning: 'Folder in which this node records, of its machine; it has to outlive the process',
  }),
  MEDIA_NODE_RECORDING_SLOTS: property('node', integer(0, 1000), {
    default: 0,
    meaning: 'Recordings that this node makes at a time; 0 means as many as its processor cores pay for',
  }),
  MEDIA_NODE_RECORDING_MIN_FREE: property('node', integer(0, 1_073_741_824), {
    default: 512,
    unit: 'MiB',
    meaning:
      'Space on the disk of MEDIA_NODE_RECORDING_PATH below which no recording starts and running ones are ended',
  }),
}
