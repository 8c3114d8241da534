import { link, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RecordedFile, RecordingJob } from '@session-service/contract'
import { isErrno } from '@session-service/server-kit'
import { z } from 'zod'
import { isSameProcess, isAliveHere, Owner, SELF } from './owner.js'

const NAME = 'job.json'
const DRAFT = `${NAME}.new`
/** The name of a journal while it is being claimed; it contains the claimer. */
const CLAIMED = /^job\.claimed(?:\.([\w-]+)\.\d+)?\.json$/
let claims = 0

/** The interval at which an owner touches the journal, and the silence after which it counts as dead. */
const TOUCH_MS = 10_000
const SILENT_MS = 60_000

/** The data that another node needs to salvage the recording of a dead node. */
const Notes = z.object({
  owner: Owner,
  job: RecordingJob,
  /** UTC ms. */
  startedAt: z.number(),
  state: z.enum(['recording', 'composing', 'delivering']),
  /** As far as known: without sizes and ends while the job records. */
  files: z.array(RecordedFile),
  failure: z.string().optional(),
  /** Failed attempts to compose the file of a deferred recording. */
  attempts: z.number().int().optional(),
})
export type Notes = Omit<z.infer<typeof Notes>, 'owner'>

/** The journal of a job: the first file in the job's folder. */
export class Journal {
  #writing: Promise<void> = Promise.resolve()

  constructor(private readonly folder: string) {}

  /** Atomic and serialised. Readable by the owner only, since it contains a token. */
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

  /** Shows nodes of other machines that the owner is alive, until the returned function is called. */
  keepAlive(everyMs = TOUCH_MS): () => void {
    const touch = (): void => {
      // oxlint-disable-next-line clock/no-wall-clock -- the time of a file
      const now = new Date()
      // Without a journal there is nothing to keep alive.
      void utimes(join(this.folder, NAME), now, now).catch(() => undefined)
    }
    const timer = setInterval(touch, everyMs).unref()
    return () => clearInterval(timer)
  }

  /**
   * Claims the job of a dead node; undefined when its owner lives, another node claimed it, or there is no journal.
   * @throws when the journal is not readable
   */
  // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
  async claim(now = Date.now()): Promise<Notes | undefined> {
    const found = await this.#find()
    if (!found || (await isOwned(found, now))) return undefined
    const mine = join(this.folder, claimName(SELF))
    if (!(await isMoved(found.path, mine))) return undefined
    const left = await readNotes(mine)
    // Another process has claimed it since #find, and works on it.
    if (!left || !isSameProcess(left.owner, found.owner)) return this.#putBack(mine)
    try {
      await this.write(left)
    } catch (error) {
      await this.#putBack(mine)
      throw error
    }
    await rm(mine, { force: true })
    return left
  }

  /** Removes the folder of a job that died before it wrote a journal. */
  // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
  async sweep(now = Date.now()): Promise<void> {
    const names = await readdir(this.folder).catch(() => undefined)
    const touched = await stat(this.folder).catch(() => undefined)
    // A new job may be about to write its journal.
    if (!names || !touched || names.some((name) => name !== DRAFT) || now - touched.mtimeMs < SILENT_MS) return
    await rm(join(this.folder, DRAFT), { force: true })
    // Another node may have removed it, or have started a job in it.
    await rmdir(this.folder).catch(() => undefined)
  }

  /** The journal, or else one whose claim was interrupted. */
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

  /** Restores the journal unless there is a newer one. */
  async #putBack(mine: string): Promise<undefined> {
    const path = join(this.folder, NAME)
    await link(mine, path).catch((error: unknown) => (isErrno(error, 'EEXIST') ? undefined : rename(mine, path)))
    await rm(mine, { force: true })
  }
}

interface Found {
  path: string
  owner: Owner
  /** The process that claims the journal, or died while it did. */
  claimer: Owner | undefined
}

/** A process of another machine or container is known to live by its changes of the journal only. */
async function isOwned({ path, owner, claimer }: Found, now: number): Promise<boolean> {
  const known = [owner, ...(claimer ? [claimer] : [])].map(isAliveHere)
  if (known.includes(true)) return true
  if (!known.includes(undefined)) return false
  const { mtimeMs, ctimeMs } = await stat(path).catch(() => ({ mtimeMs: 0, ctimeMs: 0 }))
  return now - Math.max(mtimeMs, ctimeMs) < SILENT_MS
}

const Claimer = z.tuple([z.string(), z.string(), z.number(), z.string()])

/** Unique per claim, and short enough for a file name. */
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

/** False when the file no longer exists. */
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
