import type { Session } from '@session-service/client'
import { parameter, stage, stopwatch } from './stopwatch.js'

interface Library {
  Session: typeof Session
}

/** Joins and subscribes as an application does. */
async function watch({ Session: OurSession }: Library): Promise<void> {
  const session = new OurSession()
  session.on('streamCreated', ({ stream }) => void session.subscribe(stream, stage()))
  await session.connect(parameter('token'))
}

const library = (await import(parameter('library'))) as Library
window.join = async () => {
  const firstPicture = stopwatch()
  await watch(library)
  return firstPicture
}
window.ready = true
