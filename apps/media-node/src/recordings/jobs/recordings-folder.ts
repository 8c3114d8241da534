import { constants } from 'node:fs'
import { access, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { NOT_ENOUGH_DISK, ServiceError, type RecordingPartRef } from '@session-service/contract'
import { isErrno } from '@session-service/server-kit'

const MIB = 1024 * 1024
const JOB_FOLDER = /^[A-Za-z0-9_~-]+\.\d+$/

/** Where this node records to: a folder a job. Other nodes of this machine may use the same one. */
export class RecordingsFolder {
  constructor(
    readonly path: string,
    /** MiB that have to stay free. */
    public floorMib: number,
  ) {}

  ofJob({ recordingId, part }: RecordingPartRef): string {
    return join(this.path, `${recordingId}.${part}`)
  }

  /** Those of jobs, whoever's. */
  async jobFolders(): Promise<string[]> {
    const entries = await readdir(this.path, { withFileTypes: true }).catch(() => [])
    return entries
      .filter((entry) => entry.isDirectory() && JOB_FOLDER.test(entry.name))
      .map(({ name }) => join(this.path, name))
  }

  /** Why nothing can be recorded here; undefined when it can. Makes nothing: many a node never records. */
  async problem(): Promise<string | undefined> {
    try {
      await access(await this.#nearest(), constants.W_OK | constants.X_OK)
      return undefined
    } catch (error) {
      // Whoever asks for a recording is told this: where the folder is the log says.
      const { code = 'unknown error' } = error as NodeJS.ErrnoException
      return `the media node can not write recordings to MEDIA_NODE_RECORDING_PATH: ${code}`
    }
  }

  /** Rejects with UNAVAILABLE when nothing can be written, with NO_CAPACITY when the disk is nearly full. */
  async require(): Promise<void> {
    const problem = await this.problem()
    if (problem !== undefined) throw new ServiceError('UNAVAILABLE', problem)
    if (await this.isFull()) {
      throw new ServiceError(
        'NO_CAPACITY',
        `${NOT_ENOUGH_DISK}: less than ${this.floorMib} MiB are free for recordings`,
      )
    }
  }

  async isFull(): Promise<boolean> {
    const { bavail, bsize } = await statfs(await this.#nearest())
    return (bavail * bsize) / MIB < this.floorMib
  }

  /** Seconds since the one of these jobs wrote whose last write is the longest ago; 0 without jobs. */
  async longestSilence(jobs: readonly RecordingPartRef[]): Promise<number> {
    // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
    const ages = jobs.map(async (job) => Date.now() - (await lastWrite(this.ofJob(job))))
    return Math.max(0, ...(await Promise.all(ages))) / 1_000
  }

  /** The folder itself, or the one it is going to be made in. */
  async #nearest(): Promise<string> {
    for (let folder = resolve(this.path); ; folder = dirname(folder)) {
      const isThere = await access(folder, constants.F_OK).then(
        () => true,
        (error: unknown) => !isErrno(error, 'ENOENT'),
      )
      if (isThere || folder === dirname(folder)) return folder
    }
  }
}

async function lastWrite(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  const times = names.map((name) =>
    stat(join(folder, name))
      .then(({ mtimeMs }) => mtimeMs)
      .catch(() => 0),
  )
  // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
  return Math.max(0, ...(await Promise.all(times))) || Date.now()
}
