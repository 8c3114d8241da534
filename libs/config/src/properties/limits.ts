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

/** Limits of sessions and of the cluster. */
export const LIMITS = {
  SERVICE_SESSIONS_MAX_CONCURRENT: limit(MOST, 'Maximum number of sessions in the cluster at the same time'),
  SERVICE_SESSIONS_MAX_PARTICIPANTS: limit(
    MOST,
    'Maximum number of participants of a session; moderators, IP cameras and recorders do not count',
  ),
  SERVICE_SESSIONS_MAX_STREAMS: limit(MOST, 'Maximum number of streams that a participant publishes at the same time'),
  SERVICE_SESSIONS_MAX_DURATION: limit(
    YEAR_S,
    'Time after its first participant joined at which a session ends with `automaticStop`',
    's',
  ),
  SERVICE_RECORDING_MAX_CONCURRENT: limit(MOST, 'Maximum number of running recordings in the cluster'),
}
