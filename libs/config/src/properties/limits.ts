import { property } from '../property/property.js'
import { integer } from '../property/types.js'

const YEAR_S = 31_536_000
const MOST = 1_000_000

/** Limits of a default of 0 change nothing for existing configurations. */
const limit = (max: number, meaning: string, unit?: string) =>
  property('master', integer(0, max), {
    default: 0,
    restartable: true,
    ...(unit !== undefined && { unit }),
    meaning: `${meaning}; 0: no limit`,
  })

/** 1 PiB. */
const MAX_MIB = 1_073_741_824

const MOST_REQUESTS = 100_000

/** Limits of sessions, requests and the cluster, and the retention of recordings. */
export const LIMITS = {
  SERVICE_SESSIONS_MAX_CONCURRENT: limit(MOST, 'Maximum number of sessions in the cluster at the same time'),
  SERVICE_SESSIONS_MAX_PARTICIPANTS: limit(
    MOST,
    'Maximum number of participants of a session; moderators, IP cameras and recorders do not count',
  ),
  SERVICE_SESSIONS_MAX_STREAMS: limit(
    MOST,
    'Maximum number of streams that a participant publishes at the same time, below the fixed maximum of 32',
  ),
  SERVICE_SESSIONS_MAX_DURATION: limit(
    YEAR_S,
    'Time after its first participant joined at which a session ends with `automaticStop`',
    's',
  ),
  SERVICE_RECORDING_MAX_CONCURRENT: limit(MOST, 'Maximum number of running recordings in the cluster'),
  SERVICE_RECORDING_RETENTION_DAYS: property('master', integer(0, 36_500), {
    default: 0,
    unit: 'days',
    restartable: true,
    meaning: 'Age at which finished recordings are deleted; 0: never',
  }),
  SERVICE_RECORDING_RETENTION_SIZE: property('master', integer(0, MAX_MIB), {
    default: 0,
    unit: 'MiB',
    restartable: true,
    meaning: 'Total size of finished recordings above which the oldest ones are deleted; 0: no limit',
  }),
  SERVICE_RECORDING_RETENTION_NOTICE: property('master', integer(0, 8_760), {
    default: 24,
    unit: 'hours',
    restartable: true,
    meaning: 'Time between the event `recordingRemovalAnnounced` and the deletion of the recording by the retention',
  }),
  SERVICE_REST_RATE_LIMIT: property('master', integer(0, MOST_REQUESTS), {
    default: 0,
    unit: 'requests/s',
    restartable: true,
    meaning:
      'Steady rate of REST requests of each credential at each master, beyond which they are answered with 429; 0: no limit',
  }),
  SERVICE_REST_RATE_BURST: property('master', integer(1, 10 * MOST_REQUESTS), {
    derived: {
      text: 'twice SERVICE_REST_RATE_LIMIT',
      from: ({ values }) => Math.max(2 * Number(values.SERVICE_REST_RATE_LIMIT), 1),
    },
    restartable: true,
    meaning: 'Number of REST requests that a credential may send at once before SERVICE_REST_RATE_LIMIT applies',
  }),
}
