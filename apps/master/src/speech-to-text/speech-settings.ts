import { ServiceError, type SpeechSettings } from '@session-service/contract'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { isPaid } from '../platform/config/edition.js'

/** Whether this edition and configuration include speech to text. */
export const hasSpeechToText = (config: MasterConfig): boolean =>
  isPaid(config) && config.SERVICE_PRO_SPEECH_TO_TEXT !== 'disabled'

/** Whether recognized sentences are stored. */
export const hasTranscripts = (config: MasterConfig): boolean =>
  hasSpeechToText(config) && config.SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS

/** The settings that each command to a media node contains. @throws ServiceError DISABLED */
export function speechSettings(config: MasterConfig): SpeechSettings {
  const engine = config.SERVICE_PRO_SPEECH_TO_TEXT
  if (!isPaid(config))
    throw new ServiceError('DISABLED', 'speech to text is not part of this edition (SERVICE_EDITION)')
  if (engine === 'disabled')
    throw new ServiceError('DISABLED', 'speech to text is disabled (SERVICE_PRO_SPEECH_TO_TEXT)')
  return {
    engine,
    strategy: config.SERVICE_PRO_SPEECH_TO_TEXT_MODEL_LOAD_STRATEGY,
    unloadAfterMs: config.SERVICE_PRO_SPEECH_TO_TEXT_MODEL_UNLOAD_DELAY * 1_000,
    transcripts: config.SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS,
  }
}
