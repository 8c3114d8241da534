import type { CreateSessionBody } from '@session-service/contract'
import type { MasterConfig } from '../platform/config/configuration.module.js'

/** The limits of a session, fixed at its creation; null: no limit. */
export interface SessionLimits {
  maxParticipants: number | null
  maxStreams: number | null
  /** Seconds after the first join. */
  maxDuration: number | null
}

type Requested = Pick<CreateSessionBody, 'maxParticipants' | 'maxStreamsPerParticipant' | 'maxDuration'>
type Configured = Pick<
  MasterConfig,
  'SERVICE_SESSIONS_MAX_PARTICIPANTS' | 'SERVICE_SESSIONS_MAX_STREAMS' | 'SERVICE_SESSIONS_MAX_DURATION'
>

/** The stricter of two limits, of which 0 and undefined are none. */
function stricter(requested: number | undefined, configured: number): number | null {
  const limits = [requested ?? 0, configured].filter((limit) => limit > 0)
  return limits.length > 0 ? Math.min(...limits) : null
}

/** A request can only make the limits of the configuration stricter. */
export const sessionLimits = (requested: Requested, configured: Configured): SessionLimits => ({
  maxParticipants: stricter(requested.maxParticipants, configured.SERVICE_SESSIONS_MAX_PARTICIPANTS),
  maxStreams: stricter(requested.maxStreamsPerParticipant, configured.SERVICE_SESSIONS_MAX_STREAMS),
  maxDuration: stricter(requested.maxDuration, configured.SERVICE_SESSIONS_MAX_DURATION),
})
