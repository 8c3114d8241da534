import { ServiceError } from '@session-service/contract'
import { Session } from './session.js'

/** What the recorder puts into the page that it records. */
export interface RecorderHandOver {
  /** Joins, once. */
  readonly token: string
  /** `joined`, and later why the page is in the session no more. */
  tell(text: string): void
}

/**
 * Joins the session that is being recorded, as somebody whom nobody sees and who only receives. The recording begins
 * when it resolves. Give a session that has its listeners already, or use the one that comes back.
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

/** Nobody else in the page finds it afterwards. */
function takeHandOver(): RecorderHandOver {
  const page: typeof globalThis & { sessionServiceRecorder?: RecorderHandOver } = globalThis
  const given = page.sessionServiceRecorder
  delete page.sessionServiceRecorder
  if (given) return given
  throw new ServiceError(
    'NOT_ALLOWED',
    'connectRecorder: this page is not opened by a recorder, or it has joined before',
  )
}
