import { z } from 'zod'
import { ClusterHealth, MasterHealth } from '../bus/master.js'
import { DeadLetterListView } from '../events/events.js'
import { ConnectionListView, ConnectionView, CreateConnectionBody, UpdateConnectionBody } from '../rest/connection.js'
import { RecordingListView, RecordingView, StartRecordingOptions } from '../rest/recording.js'
import { CreateSessionBody, SessionListView, SessionView } from '../rest/session.js'
import { SendSignalBody, SessionRef } from '../rest/signal.js'
import { CreateTokenBody, TokenView } from '../rest/token.js'
import { CONFIGURATION } from './configuration-routes.js'
import { HISTORY } from './history-routes.js'
import { MEDIA_NODES } from './media-node-routes.js'
import { TRANSCRIPTS } from './transcript-routes.js'
import { SPEECH_TO_TEXT } from './speech-to-text-routes.js'
import { done, faults, gone, ok, PAID, PREFIX as P, type Route } from './route.js'

const NO_SESSION = 'There is no such session'
const MODULE_OFF = 'The recording module is disabled'

const Pending = z.object({
  pendingConnections: z.enum(['true', 'false']).optional().describe('Whether to include pending connections'),
})
export type PendingQuery = z.output<typeof Pending>
const Sessions = Pending.extend({
  webRtcStats: z.enum(['true', 'false']).optional().describe('Whether to include the transports of the streams'),
})
export type SessionsQuery = z.output<typeof Sessions>
export const StartRecordingBody = z.object({
  session: SessionRef.describe('The session to record'),
  ...StartRecordingOptions.shape,
})
export const HealthView = z.union([MasterHealth, ClusterHealth])

const SESSIONS = {
  createSession: {
    method: 'POST',
    path: `${P}/sessions`,
    tag: 'Sessions',
    summary: 'Create a session',
    body: CreateSessionBody,
    answers: { ...ok('Created', SessionView), ...faults({ 409: 'A session with this customSessionId exists' }) },
  },
  getSession: {
    method: 'GET',
    path: `${P}/sessions/{sessionId}`,
    tag: 'Sessions',
    summary: 'Retrieve a session',
    query: Sessions,
    answers: { ...ok('The session', SessionView), ...faults({ 404: NO_SESSION }) },
  },
  listSessions: {
    method: 'GET',
    path: `${P}/sessions`,
    tag: 'Sessions',
    summary: 'List all sessions',
    query: Sessions,
    answers: ok('All sessions', SessionListView),
  },
  deleteSession: {
    method: 'DELETE',
    path: `${P}/sessions/{sessionId}`,
    tag: 'Sessions',
    summary: 'Close a session with its connections, streams and recordings',
    answers: { ...gone('Closed'), ...faults({ 404: NO_SESSION }) },
  },
} as const satisfies Record<string, Route>

const CONNECTION = `${P}/sessions/{sessionId}/connection`
const CONNECTIONS = {
  createConnection: {
    method: 'POST',
    path: CONNECTION,
    tag: 'Connections',
    summary: 'Create a connection',
    body: CreateConnectionBody,
    answers: {
      ...ok('Created', ConnectionView),
      ...faults({
        404: NO_SESSION,
        500: 'The camera could not be read; the message gives the cause',
        501: 'The media node of the session cannot read cameras',
        503: 'No media node is available for the camera: retry after `Retry-After` seconds',
      }),
    },
  },
  getConnection: {
    method: 'GET',
    path: `${CONNECTION}/{connectionId}`,
    tag: 'Connections',
    summary: 'Retrieve a connection',
    answers: { ...ok('The connection', ConnectionView), ...faults({ 400: NO_SESSION, 404: 'No such connection' }) },
  },
  listConnections: {
    method: 'GET',
    path: CONNECTION,
    tag: 'Connections',
    summary: 'List the connections of a session',
    query: Pending,
    answers: { ...ok('All connections', ConnectionListView), ...faults({ 404: NO_SESSION }) },
  },
  updateConnection: {
    method: 'PATCH',
    path: `${CONNECTION}/{connectionId}`,
    tag: 'Connections',
    summary: 'Change role or record of a connection',
    body: UpdateConnectionBody,
    answers: {
      ...ok('The updated connection', ConnectionView),
      ...faults({ 404: `No such session or connection; or: ${PAID}` }),
    },
  },
  deleteConnection: {
    method: 'DELETE',
    path: `${CONNECTION}/{connectionId}`,
    tag: 'Connections',
    summary: 'Delete a connection',
    answers: { ...gone('Deleted'), ...faults({ 400: NO_SESSION, 404: 'No such connection' }) },
  },
  deleteStream: {
    method: 'DELETE',
    path: `${P}/sessions/{sessionId}/stream/{streamId}`,
    tag: 'Connections',
    summary: 'End a published stream',
    answers: {
      ...gone('Ended'),
      ...faults({
        400: NO_SESSION,
        404: 'No such stream',
        405: 'The stream belongs to a camera: delete its connection',
      }),
    },
  },
} as const satisfies Record<string, Route>

const RECORDINGS = {
  startRecording: {
    method: 'POST',
    path: `${P}/recordings/start`,
    tag: 'Recordings',
    summary: 'Start recording a session',
    body: StartRecordingBody,
    answers: {
      ...ok('Started', RecordingView),
      ...faults({
        404: NO_SESSION,
        406: 'The session has no connected participant',
        409: 'The session is not ROUTED, or is being recorded',
        422: 'A value is out of its range',
        501: MODULE_OFF,
      }),
    },
  },
  stopRecording: {
    method: 'POST',
    path: `${P}/recordings/stop/{recordingId}`,
    tag: 'Recordings',
    summary: 'Stop a recording',
    answers: {
      ...ok('Stopped', RecordingView),
      ...faults({
        404: 'No such recording',
        406: 'The recording is still starting',
        409: 'The recording has ended',
        501: MODULE_OFF,
      }),
    },
  },
  getRecording: {
    method: 'GET',
    path: `${P}/recordings/{recordingId}`,
    tag: 'Recordings',
    summary: 'Retrieve a recording',
    answers: { ...ok('The recording', RecordingView), ...faults({ 404: 'No such recording', 501: MODULE_OFF }) },
  },
  listRecordings: {
    method: 'GET',
    path: `${P}/recordings`,
    tag: 'Recordings',
    summary: 'List all recordings',
    answers: { ...ok('All recordings', RecordingListView), ...faults({ 501: MODULE_OFF }) },
  },
  deleteRecording: {
    method: 'DELETE',
    path: `${P}/recordings/{recordingId}`,
    tag: 'Recordings',
    summary: 'Delete a recording and its files',
    answers: {
      ...gone('Deleted'),
      ...faults({ 404: 'No such recording', 409: 'The recording is in progress: stop it first', 501: MODULE_OFF }),
    },
  },
} as const satisfies Record<string, Route>

const SERVICE = {
  sendSignal: {
    method: 'POST',
    path: `${P}/signal`,
    tag: 'Signals',
    summary: 'Send a signal to some or all connections of a session',
    body: SendSignalBody,
    answers: {
      ...done('Sent'),
      ...faults({
        404: NO_SESSION,
        406: '`to` names an id that is no active connection of the session, or the session has none',
      }),
    },
  },
  getHealth: {
    method: 'GET',
    path: `${P}/health`,
    tag: 'Service',
    summary: 'Health of the cluster',
    answers: {
      ...ok('UP', HealthView),
      409: { description: 'UNSTABLE', schema: HealthView },
      503: { description: 'DOWN', schema: HealthView },
      ...faults({ 404: PAID }),
    },
  },
  createToken: {
    method: 'POST',
    path: `${P}/tokens`,
    tag: 'Connections',
    summary: 'Create a token',
    body: CreateTokenBody,
    answers: { ...ok('Created', TokenView), ...faults({ 404: NO_SESSION }) },
    deprecated: `POST ${CONNECTION}`,
  },
} as const satisfies Record<string, Route>

const DEAD_LETTERS = `${P}/webhook/dead-letters`
const NO_LETTER = faults({ 404: 'No such dead letter' })
const Replayed = z.object({ replayed: z.number() })
const EVENTS = {
  listDeadLetters: {
    method: 'GET',
    path: DEAD_LETTERS,
    tag: 'Events',
    summary: 'List dead letters',
    answers: ok('The oldest thousand dead letters and the number of all', DeadLetterListView),
  },
  replayDeadLetters: {
    method: 'POST',
    path: `${DEAD_LETTERS}/replay`,
    tag: 'Events',
    summary: 'Replay all dead letters',
    answers: ok('Number of replayed events', Replayed),
  },
  replayDeadLetter: {
    method: 'POST',
    path: `${DEAD_LETTERS}/{eventId}/replay`,
    tag: 'Events',
    summary: 'Replay a dead letter',
    answers: { ...ok('Number of replayed events', Replayed), ...NO_LETTER },
  },
  deleteDeadLetters: {
    method: 'DELETE',
    path: DEAD_LETTERS,
    tag: 'Events',
    summary: 'Delete all dead letters',
    answers: gone('Deleted'),
  },
  deleteDeadLetter: {
    method: 'DELETE',
    path: `${DEAD_LETTERS}/{eventId}`,
    tag: 'Events',
    summary: 'Delete a dead letter',
    answers: { ...gone('Deleted'), ...NO_LETTER },
  },
  listCallRecords: {
    method: 'GET',
    path: '/service/cdr',
    tag: 'Events',
    summary: 'List the files of call records',
    answers: ok('Names of the files', z.array(z.string())),
  },
  getCallRecords: {
    method: 'GET',
    path: '/service/cdr/{file}',
    tag: 'Events',
    summary: 'Read a file of call records',
    answers: {
      200: { description: 'One JSON object per line', schema: z.string(), contentType: 'text/plain' },
      ...faults({ 404: 'No such file' }),
    },
  },
} as const satisfies Record<string, Route>

/** All operations of the current API by name; clients have a method of the same name. */
export const ROUTES = {
  ...SESSIONS,
  ...CONNECTIONS,
  ...RECORDINGS,
  ...SERVICE,
  ...SPEECH_TO_TEXT,
  ...TRANSCRIPTS,
  ...CONFIGURATION,
  ...EVENTS,
  ...HISTORY,
  ...MEDIA_NODES,
}
export type Operation = keyof typeof ROUTES
