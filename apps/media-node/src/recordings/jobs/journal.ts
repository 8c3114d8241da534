import { link, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RecordedFile, RecordingJob } from '@session-service/contract'
import { isErrno } from '@session-service/server-kit'
import { z } from 'zod'
import { isSame, livesHere, Owner, SELF } from './owner.js'

const NAME = 'job.json'
const DRAFT = `${NAME}.new`
/** A journal that is being taken over, by whom. */
const CLAIMED = /^job\.claimed(?:\.([\w-]+)\.\d+)?\.json$/
let claims = 0

/** How often an owner shows that it lives, and so long none of it is seen of one that is gone. */
const TOUCH_MS = 10_000
const SILENT_MS = 60_000

/** What whoever comes after a dead node needs to know to bring home what it recorded. */
const Notes = z.object({
  owner: Owner,
  job: RecordingJob,
  /** UTC ms. */
  startedAt: z.number(),
  state: z.enum(['recording', 'delivering']),
  /** As far as they are known: while it records without their sizes and ends. */
  files: z.array(RecordedFile),
  failure: z.string().optional(),
})
export type Notes = Omit<z.infer<typeof Notes>, 'owner'>

/** The journal of one job: a file in the job's folder, written before anything else happens there. */
export class Journal {
  #writing: Promise<void> = Promise.resolve()

  constructor(private readonly folder: string) {}

  /** One after the other; whoever reads it finds one of them whole. It holds a token: for our eyes only. */
  write(notes: Notes): Promise<void> {
    const text = JSON.stringify({ ...notes, owner: SELF })
    const written = this.#writing.then(() => this.#replace(text))
    this.#writing = written.catch(() => undefined)
    return written
  }

  async #replace(text: string): Promise<void> {
    const draft = join(this.folder, DRAFT)
    await writeFile(draft, text, { mode: 0o600, flush: true })
    await rename(draft, join(this.folder, NAME))
  }

  /** Until the answer is called those of other machines see that somebody is at work. */
  keepAlive(everyMs = TOUCH_MS): () => void {
    const touch = (): void => {
      // oxlint-disable-next-line clock/no-wall-clock -- the time of a file
      const now = new Date()
      // Without a journal there is nothing to be taken over.
      void utimes(join(this.folder, NAME), now, now).catch(() => undefined)
    }
    const timer = setInterval(touch, everyMs).unref()
    return () => clearInterval(timer)
  }

  /**
   * Takes over a job whose node died; undefined when it lives, somebody else took it, or there is no journal.
   * @throws what is wrong with a journal that can not be read
   */
  // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
  async claim(now = Date.now()): Promise<Notes | undefined> {
    const found = await this.#find()
    if (!found || (await lives(found, now))) return undefined
    const mine = join(this.folder, claimName(SELF))
    if (!(await isMoved(found.path, mine))) return undefined
    const left = await readNotes(mine)
    // Since the look somebody else has taken it over, and is at work.
    if (!left || !isSame(left.owner, found.owner)) return this.#putBack(mine)
    try {
      await this.write(left)
    } catch (error) {
      await this.#putBack(mine)
      throw error
    }
    await rm(mine, { force: true })
    return left
  }

  /** Removes the folder of a job that died before it had a journal: there is nothing else in it then. */
  // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
  async sweep(now = Date.now()): Promise<void> {
    const names = await readdir(this.folder).catch(() => undefined)
    const touched = await stat(this.folder).catch(() => undefined)
    // A young one may be about to get its journal.
    if (!names || !touched || names.some((name) => name !== DRAFT) || now - touched.mtimeMs < SILENT_MS) return
    await rm(join(this.folder, DRAFT), { force: true })
    // Somebody else may have been quicker, or have begun anew.
    await rmdir(this.folder).catch(() => undefined)
  }

  /** The journal, or without one that which somebody began to take over. */
  async #find(): Promise<Found | undefined> {
    const path = join(this.folder, NAME)
    const own = await readNotes(path)
    if (own) return { path, owner: own.owner, claimer: undefined }
    for (const name of await readdir(this.folder).catch(() => [])) {
      const claim = CLAIMED.exec(name)
      const notes = claim ? await readNotes(join(this.folder, name)) : undefined
      if (notes) return { path: join(this.folder, name), owner: notes.owner, claimer: claimerOf(claim?.[1]) }
    }
    return undefined
  }

  /** Unless there is a newer one. */
  async #putBack(mine: string): Promise<undefined> {
    const path = join(this.folder, NAME)
    await link(mine, path).catch((error: unknown) => (isErrno(error, 'EEXIST') ? undefined : rename(mine, path)))
    await rm(mine, { force: true })
  }
}

interface Found {
  path: string
  owner: Owner
  /** Who died while it took over, or is just doing it. */
  claimer: Owner | undefined
}

/** Of a process whose id says nothing here it is known by what it does with the journal alone. */
async function lives({ path, owner, claimer }: Found, now: number): Promise<boolean> {
  const known = [owner, ...(claimer ? [claimer] : [])].map(livesHere)
  if (known.includes(true)) return true
  if (!known.includes(undefined)) return false
  const { mtimeMs, ctimeMs } = await stat(path).catch(() => ({ mtimeMs: 0, ctimeMs: 0 }))
  return now - Math.max(mtimeMs, ctimeMs) < SILENT_MS
}

const Claimer = z.tuple([z.string(), z.string(), z.number(), z.string()])

/** Each another: what one takes over no other can take for its own. Short enough for the name of a file. */
export function claimName({ host, pids, pid, since }: Owner): string {
  const claimer: z.infer<typeof Claimer> = [host, pids, pid, since]
  return `job.claimed.${Buffer.from(JSON.stringify(claimer)).toString('base64url')}.${claims++}.json`
}

function claimerOf(word = ''): Owner | undefined {
  try {
    const [host, pids, pid, since] = Claimer.parse(JSON.parse(Buffer.from(word, 'base64url').toString()))
    return { host, pids, pid, since }
  } catch {
    return undefined
  }
}

/** False when it is there no more. */
const isMoved = (from: string, to: string): Promise<boolean> =>
  rename(from, to).then(
    () => true,
    (error: unknown) => {
      if (isErrno(error, 'ENOENT')) return false
      throw error
    },
  )

async function readNotes(path: string): Promise<z.infer<typeof Notes> | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  })
  return text === undefined ? undefined : Notes.parse(JSON.parse(text))
}
