import { filesLeft } from './job.js'
import { Journal, type Notes } from './journal.js'

const DIED = 'the media node died while it recorded'

/** What a dead node's job left in a folder, taken over and ready to be delivered; undefined when there is none. */
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
