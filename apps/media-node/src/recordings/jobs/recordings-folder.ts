import { constants, type StatsFs } from 'node:fs'
import { access, readdir, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { NOT_ENOUGH_DISK, ServiceError, type RecordingPartRef } from '@session-service/contract'
import { isErrno } from '@session-service/server-kit'

const MIB = 1024 * 1024
/** A recording creates several files. */
const MIN_INODES = 64
const JOB_FOLDER = /^[A-Za-z0-9_~-]+\.\d+$/

/** The recordings folder of this node, with one folder per job. Other nodes of the machine may share it. */
export class RecordingsFolder {
  constructor(
    readonly path: string,
    /** The disk space that has to stay free, MiB. */
    public floorMib: number,
  ) {}

  ofJob({ recordingId, part }: RecordingPartRef): string {
    return join(this.path, `${recordingId}.${part}`)
  }

  /** The folders of all jobs, those of other nodes included. */
  async jobFolders(): Promise<string[]> {
    const entries = await readdir(this.path, { withFileTypes: true }).catch(() => [])
    return entries
      .filter((entry) => entry.isDirectory() && JOB_FOLDER.test(entry.name))
      .map(({ name }) => join(this.path, name))
  }

  /** Why this node cannot record; undefined if it can. Creates no folder: many nodes never record. */
  async problem(): Promise<string | undefined> {
    try {
      await this.#existing(constants.W_OK | constants.X_OK)
      return undefined
    } catch (error) {
      // Clients receive this message; only the log contains the path.
      const { code = 'unknown error' } = error as NodeJS.ErrnoException
      return `the media node cannot write recordings to MEDIA_NODE_RECORDING_PATH: ${code}`
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
    const { files, ffree } = await this.#stat()
    // Some file systems do not count inodes, and report 0 of 0.
    if (files > 0 && ffree < MIN_INODES)
      throw new ServiceError('NO_CAPACITY', `${NOT_ENOUGH_DISK}: only ${ffree} inodes are free for recordings`)
  }

  async isFull(): Promise<boolean> {
    const { bavail, bsize } = await this.#stat()
    return (bavail * bsize) / MIB < this.floorMib
  }

  async #stat(): Promise<StatsFs> {
    return statfs(await this.#existing(constants.F_OK))
  }

  /** The folder, or else its nearest existing parent. Rejects without this access to it. */
  async #existing(mode: number): Promise<string> {
    for (let folder = resolve(this.path); ; folder = dirname(folder)) {
      const error = await access(folder, mode).catch((thrown: unknown) => thrown)
      if (error === undefined) return folder
      if (!isErrno(error, 'ENOENT') || folder === dirname(folder)) throw error
    }
  }
}
