import { ServiceError } from '@session-service/contract'
import { Session } from './session.js'

/** The object that the recorder puts into the page that it records. */
export interface RecorderHandOver {
  /** Valid for one join. */
  readonly token: string
  /** Reports `joined`, and later the reason why the page has left the session. */
  tell(text: string): void
}

/**
 * Joins the recorded session as an invisible participant that only receives. The recording starts when the promise
 * resolves. Pass a session that already has its listeners, or use the returned one.
 */
export async function connectRecorder(session: Session = new Session()): Promise<Session> {
  const recorder = takeHandOver()
  try {
    await session.connect(recorder.token)
  } catch (error) {
    recorder.tell(error instanceof Error ? error.message : String(error))
    throw error
  }
  session.on('sessionDisconnected', ({ reason }) => recorder.tell(reason))
  recorder.tell('joined')
  return session
}

/** Removes the object from the page, so that other scripts cannot read the token. */
function takeHandOver(): RecorderHandOver {
  const page: typeof globalThis & { sessionServiceRecorder?: RecorderHandOver } = globalThis
  const given = page.sessionServiceRecorder
  delete page.sessionServiceRecorder
  if (given) return given
  throw new ServiceError('NOT_ALLOWED', 'connectRecorder: no recorder opened this page, or the page has already joined')
}
