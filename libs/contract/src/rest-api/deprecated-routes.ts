import { z } from 'zod'
import { withDefault } from '../optional.js'
import { CreateConnectionBody, CameraUri } from '../rest/connection.js'
import { ROUTES, type Operation } from './routes.js'
import type { Answer, Method, Route } from './route.js'

/** Deprecated paths of the operations, with the parameters of the current ones. */
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

/** Operations whose bodies have earlier forms. The documentation of the current paths describes their members. */
const legacyAnswers = (answers: Readonly<Record<number, Answer>>): Record<number, Answer> =>
  Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [
      status,
      status === '200' && answer.schema
        ? { description: `${answer.description}, in the earlier form`, schema: z.looseObject({}) }
        : answer,
    ]),
  )

const { data, adaptativeBitrate, onlyPlayWithSubscribers } = CreateConnectionBody.shape
/** The deprecated path accepts only cameras. */
const CreateCameraBody = z.object({
  type: withDefault(z.literal('IPCAM'), 'IPCAM'),
  rtspUri: CameraUri,
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

/** The routes that `SUPPORT_DEPRECATED_API=false` disables. */
export const DEPRECATED_ROUTES: Readonly<Record<string, Route>> = Object.fromEntries(
  Object.entries(OLD_PATHS).map(([operation, path]) => {
    const name = operation as Operation
    return [`deprecated${operation.charAt(0).toUpperCase()}${operation.slice(1)}`, legacy(name, path)]
  }),
)
