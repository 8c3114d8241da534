import type { RecordingProperties, StartRecordingOptions } from '@session-service/contract'

/** Not what is undefined: the session's default counts then. */
const given = (options: StartRecordingOptions): Partial<RecordingProperties> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

/**
 * What a recording is made with: what the call says, else the defaults of its session. Whether a composed one is of the
 * quick-start kind was decided with the session.
 */
export function decideProperties(
  defaults: RecordingProperties,
  options: StartRecordingOptions,
  id: string,
): RecordingProperties {
  const decided = { ...defaults, ...given(options) }
  const isQuick = defaults.outputMode === 'COMPOSED_QUICK_START'
  const outputMode =
    decided.outputMode === 'INDIVIDUAL' ? 'INDIVIDUAL' : isQuick ? 'COMPOSED_QUICK_START' : ('COMPOSED' as const)
  return { ...decided, outputMode, name: options.name || defaults.name || id }
}

/** The id of the nth recording that is kept of a session, from 0. */
export const recordingId = (sessionId: string, nth: number): string => (nth === 0 ? sessionId : `${sessionId}~${nth}`)

/** A page in a browser, recorded as it looks. */
export const isCustomLayout = ({ outputMode, hasVideo, recordingLayout }: RecordingProperties): boolean =>
  outputMode !== 'INDIVIDUAL' && hasVideo && recordingLayout === 'CUSTOM'
