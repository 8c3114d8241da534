import { LanguageModelBody, TranscriptionBody, TranscriptionView } from '../rest/speech-to-text.js'
import { done, faults, gone, ok, PAID, PREFIX, type Route } from './route.js'

const languageModel = (action: 'load' | 'unload', failures: Readonly<Record<number, string>>) =>
  ({
    method: 'POST',
    path: `${PREFIX}/speech-to-text/${action}`,
    tag: 'Speech to text',
    summary: `${action === 'load' ? 'Load' : 'Unload'} a language model ${action === 'load' ? 'into' : 'from'} a media node`,
    body: LanguageModelBody,
    answers: {
      ...done('Done'),
      ...faults({
        404: `No such model in the node; or: ${PAID}`,
        501: 'Speech to text is disabled',
        ...failures,
      }),
    },
  }) as const satisfies Route

const TRANSCRIPTION = `${PREFIX}/sessions/{sessionId}/speech-to-text`
const NOT_TRANSCRIBED = {
  404: `No such session, or it is not transcribed; or: ${PAID}`,
  501: 'Speech to text is disabled',
}

export const SPEECH_TO_TEXT = {
  loadLanguageModel: languageModel('load', {
    409: 'The model is loaded or being loaded already',
    502: 'The model cannot be loaded; the message contains the reason',
    503: 'The media node has no free slot or not enough memory for the model, or it is not connected, or was lost meanwhile: retry after `Retry-After` seconds',
  }),
  unloadLanguageModel: languageModel('unload', {
    405: 'The model is in use',
    409: 'The model is not loaded, or not loaded yet',
    503: 'The media node is not connected: retry after `Retry-After` seconds',
  }),
  /** An addition to the contract. */
  startTranscription: {
    method: 'POST',
    path: TRANSCRIPTION,
    tag: 'Speech to text',
    summary: 'Transcribe a whole session',
    body: TranscriptionBody,
    answers: {
      ...ok('The session is transcribed from now on', TranscriptionView),
      ...faults({
        404: `No such session; or: no such model in its media node; or: ${PAID}`,
        406: 'The model is not loaded in the media node of the session, and is loaded over the REST API only',
        409: 'The session is transcribed in this language already',
        501: 'Speech to text or transcripts are disabled',
        502: 'The model cannot be loaded; the message contains the reason',
        503: 'The media node of the session has no free slot or not enough memory for the model: retry after `Retry-After` seconds',
      }),
    },
  },
  /** An addition to the contract. */
  getTranscription: {
    method: 'GET',
    path: TRANSCRIPTION,
    tag: 'Speech to text',
    summary: 'Retrieve the transcription of a session',
    answers: {
      ...ok('The session is transcribed', TranscriptionView),
      ...faults(NOT_TRANSCRIBED),
    },
  },
  /** An addition to the contract. */
  stopTranscription: {
    method: 'DELETE',
    path: TRANSCRIPTION,
    tag: 'Speech to text',
    summary: 'End the transcription of a session',
    answers: {
      ...gone('Ended'),
      ...faults(NOT_TRANSCRIBED),
    },
  },
} as const satisfies Record<string, Route>
