import { isDeferred } from '../recorder/deferred.js'
import { filesLeft } from './job.js'
import { Journal, type Notes } from './journal.js'

const DIED = 'the media node died while it recorded'

/** Claims the job of a dead node in this folder, to compose and deliver its files; undefined when there is none. */
export async function salvageable(folder: string): Promise<Notes | undefined> {
  const journal = new Journal(folder)
  const left = await journal.claim()
  if (!left) {
    await journal.sweep()
    return undefined
  }
  if (left.state !== 'recording') return left
  const failure = left.failure ?? DIED
  const state = isDeferred(left.job) ? 'composing' : 'delivering'
  const notes: Notes = { ...left, state, files: await filesLeft(folder, left), failure }
  await journal.write(notes)
  return notes
}
