import type { RecordingProperties, StartRecordingOptions } from '@session-service/contract'

/** The options that are set: for the others the session's defaults apply. */
const definedOptions = (options: StartRecordingOptions): Partial<RecordingProperties> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

/**
 * The properties of a new recording: the options of the request over the defaults of the session. The session alone
 * decides whether a composed recording is COMPOSED_QUICK_START.
 */
export function decideProperties(
  defaults: RecordingProperties,
  options: StartRecordingOptions,
  id: string,
): RecordingProperties {
  const decided = { ...defaults, ...definedOptions(options) }
  const isQuick = defaults.outputMode === 'COMPOSED_QUICK_START'
  const outputMode =
    decided.outputMode === 'INDIVIDUAL' ? 'INDIVIDUAL' : isQuick ? 'COMPOSED_QUICK_START' : ('COMPOSED' as const)
  return { ...decided, outputMode, name: options.name || defaults.name || id }
}

/** The id of the nth stored recording of a session, from 0. */
export const recordingId = (sessionId: string, nth: number): string => (nth === 0 ? sessionId : `${sessionId}~${nth}`)

/** True when a browser shows a page that is recorded. */
export const isCustomLayout = ({ outputMode, hasVideo, recordingLayout }: RecordingProperties): boolean =>
  outputMode !== 'INDIVIDUAL' && hasVideo && recordingLayout === 'CUSTOM'
