import { z } from 'zod'
import { Id } from '../ids.js'
import { text } from '../optional.js'
import { TranscriptView } from '../rest/transcript.js'
import { faults, ok, PAID, PREFIX, type Route } from './route.js'

const TRANSCRIPT = `${PREFIX}/sessions/{sessionId}/transcript`
const NO_TRANSCRIPT = faults({
  404: `No such session, neither a live one nor one with stored sentences; or: ${PAID}`,
})
/** The largest number of sentences of one answer. */
export const TRANSCRIPT_PAGE = 1_000

const Time = z.string().regex(/^\d{1,15}$/, 'must be a time in UTC ms')
const OfSession = {
  lang: text(64).optional().describe('Only sentences in this language'),
  uniqueSessionId: Id.optional().describe('A use of a custom session id; default: the last one'),
}
const Page = {
  limit: z
    .string()
    .regex(/^([1-9]\d{0,2}|1000)$/, `must be an integer from 1 to ${TRANSCRIPT_PAGE}`)
    .optional()
    .describe(`Largest number of sentences of the answer, 1 to ${TRANSCRIPT_PAGE} (default)`),
  after: z
    .string()
    .regex(/^\d{1,15}-[A-Za-z0-9]{1,64}$/, 'must be the `next` of an answer')
    .optional()
    .describe('The `next` of the previous answer'),
}
const SessionTranscript = z.object({ ...OfSession, ...Page })
export type SessionTranscriptQuery = z.output<typeof SessionTranscript>
const TranscriptFile = z.object(OfSession)
export type TranscriptFileQuery = z.output<typeof TranscriptFile>
const SearchTranscripts = z.object({
  text: text(1_000)
    .optional()
    .describe(
      'Words that all occur in the sentence; `"…"` for a phrase, `or` between alternatives, `-` before excluded words',
    ),
  session: Id.optional().describe('Only sentences of this session'),
  lang: OfSession.lang,
  from: Time.optional().describe('Only sentences that begin at or after this time, UTC ms'),
  to: Time.optional().describe('Only sentences that begin before this time, UTC ms'),
  ...Page,
})
export type SearchTranscriptsQuery = z.output<typeof SearchTranscripts>

const INVALID = faults({ 400: 'A parameter is invalid; the message names it' })
const file = (contentType: string, summary: string) =>
  ({
    method: 'GET',
    path: `${TRANSCRIPT}.${contentType === 'text/vtt' ? 'vtt' : 'txt'}`,
    tag: 'Speech to text',
    summary,
    query: TranscriptFile,
    answers: {
      200: { description: 'The complete transcript', schema: z.string(), contentType },
      ...INVALID,
      ...NO_TRANSCRIPT,
    },
  }) as const satisfies Route

/** Additions to the contract. */
export const TRANSCRIPTS = {
  getTranscript: {
    method: 'GET',
    path: TRANSCRIPT,
    tag: 'Speech to text',
    summary: 'Retrieve the transcript of a session',
    query: SessionTranscript,
    answers: { ...ok('The sentences in the order of their begin', TranscriptView), ...INVALID, ...NO_TRANSCRIPT },
  },
  getTranscriptVtt: file('text/vtt', 'Retrieve the transcript of a session as WebVTT'),
  getTranscriptText: file('text/plain', 'Retrieve the transcript of a session as text'),
  searchTranscripts: {
    method: 'GET',
    path: `${PREFIX}/transcripts`,
    tag: 'Speech to text',
    summary: 'Search the transcripts of all sessions',
    query: SearchTranscripts,
    answers: { ...ok('The sentences, the newest first', TranscriptView), ...INVALID, ...faults({ 404: PAID }) },
  },
} as const satisfies Record<string, Route>
