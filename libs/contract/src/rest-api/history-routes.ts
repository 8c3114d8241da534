import { z } from 'zod'
import { Id } from '../ids.js'
import { SessionEndReason } from '../reasons.js'
import { HistorySessionDetailsView, HistorySessionListView } from '../rest/history.js'
import { faults, gone, ok, PREFIX, type Route } from './route.js'

const SESSIONS = `${PREFIX}/history/sessions`
const OFF = 'The history is disabled (`SERVICE_HISTORY`)'
/** The number of sessions of one answer. */
export const HISTORY_PAGE = { default: 100, most: 1_000 }

const Time = z.string().regex(/^\d{1,15}$/, 'must be a time in UTC ms')
const History = z.object({
  session: Id.optional().describe('Only uses of this session id'),
  mediaNode: Id.optional().describe('Only sessions whose last media node was this one'),
  reason: SessionEndReason.optional().describe('Only sessions that ended for this reason'),
  from: Time.optional().describe('Only sessions that ended at or after this time, UTC ms'),
  to: Time.optional().describe('Only sessions that ended before this time, UTC ms'),
  limit: z
    .string()
    .regex(/^([1-9]\d{0,2}|1000)$/, `must be an integer from 1 to ${HISTORY_PAGE.most}`)
    .optional()
    .describe(`Largest number of sessions of the answer, 1 to ${HISTORY_PAGE.most}; default ${HISTORY_PAGE.default}`),
  after: z
    .string()
    .regex(/^\d{1,15}-[\w-]{1,220}$/, 'must be the `next` of an answer')
    .optional()
    .describe('The `next` of the previous answer'),
})
export type HistoryQuery = z.output<typeof History>

const NO_SESSION = 'The history has no such session'

/** Additions to the contract. */
export const HISTORY = {
  listEndedSessions: {
    method: 'GET',
    path: SESSIONS,
    tag: 'History',
    summary: 'List ended sessions',
    query: History,
    answers: {
      ...ok('The sessions, the last one that ended first', HistorySessionListView),
      ...faults({ 400: 'A parameter is invalid; the message names it', 501: OFF }),
    },
  },
  getEndedSession: {
    method: 'GET',
    path: `${SESSIONS}/{uniqueSessionId}`,
    tag: 'History',
    summary: 'Retrieve an ended session with its users, connections, streams and recordings',
    answers: { ...ok('The session', HistorySessionDetailsView), ...faults({ 404: NO_SESSION, 501: OFF }) },
  },
  deleteEndedSession: {
    method: 'DELETE',
    path: `${SESSIONS}/{uniqueSessionId}`,
    tag: 'History',
    summary: 'Delete an ended session from the history',
    answers: { ...gone('Deleted'), ...faults({ 404: NO_SESSION, 501: OFF }) },
  },
} as const satisfies Record<string, Route>
