import { z } from 'zod'
import { withDefault } from '../optional.js'
import { CreateConnectionBody, RtspUri } from '../rest/connection.js'
import { ROUTES, type Operation } from './routes.js'
import type { Answer, Method, Route } from './route.js'

/** Old paths of these operations; their parameters are those of the new ones. */
const OLD_PATHS: Readonly<Partial<Record<Operation, string>>> = {
  createSession: '/api/sessions',
  getSession: '/api/sessions/{sessionId}',
  listSessions: '/api/sessions',
  deleteSession: '/api/sessions/{sessionId}',
  createConnection: '/api/sessions/{sessionId}/connection',
  deleteConnection: '/api/sessions/{sessionId}/connection/{connectionId}',
  deleteStream: '/api/sessions/{sessionId}/stream/{streamId}',
  startRecording: '/api/recordings/start',
  stopRecording: '/api/recordings/stop/{recordingId}',
  getRecording: '/api/recordings/{recordingId}',
  listRecordings: '/api/recordings',
  deleteRecording: '/api/recordings/{recordingId}',
  sendSignal: '/api/signal',
  createToken: '/api/tokens',
  getConfiguration: '/config',
}

/** Their bodies have earlier shapes: the documentation of the new paths holds for what they mean. */
const legacyAnswers = (answers: Readonly<Record<number, Answer>>): Record<number, Answer> =>
  Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [
      status,
      status === '200' && answer.schema
        ? { description: `${answer.description}, in the earlier shape`, schema: z.looseObject({}) }
        : answer,
    ]),
  )

const { data, adaptativeBitrate, onlyPlayWithSubscribers } = CreateConnectionBody.shape
/** The old path takes cameras only. */
const CreateCameraBody = z.object({
  type: withDefault(z.literal('IPCAM'), 'IPCAM'),
  rtspUri: RtspUri,
  data,
  adaptativeBitrate,
  onlyPlayWithSubscribers,
})

const legacy = (operation: Operation, path: string): Route => {
  const { query: _, ...route }: Route = ROUTES[operation]
  return {
    ...route,
    ...(operation === 'createConnection' && { body: CreateCameraBody }),
    path,
    tag: 'Deprecated paths',
    answers: legacyAnswers(route.answers),
    deprecated: `${route.method satisfies Method} ${route.path}`,
  }
}

/** What `SUPPORT_DEPRECATED_API=false` switches off. */
export const DEPRECATED_ROUTES: Readonly<Record<string, Route>> = Object.fromEntries(
  Object.entries(OLD_PATHS).map(([operation, path]) => {
    const name = operation as Operation
    return [`deprecated${operation.charAt(0).toUpperCase()}${operation.slice(1)}`, legacy(name, path)]
  }),
)
