import { filesLeft } from './job.js'
import { Journal, type Notes } from './journal.js'

const DIED = 'the media node died while it recorded'

/** Claims the job of a dead node in this folder for delivery; undefined when there is none. */
export async function salvageable(folder: string): Promise<Notes | undefined> {
  const journal = new Journal(folder)
  const left = await journal.claim()
  if (!left) {
    await journal.sweep()
    return undefined
  }
  if (left.state === 'delivering') return left
  const failure = left.failure ?? DIED
  const notes: Notes = { ...left, state: 'delivering', files: await filesLeft(folder, left), failure }
  await journal.write(notes)
  return notes
}
