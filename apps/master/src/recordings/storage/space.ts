import { access, constants, statfs } from 'node:fs/promises'
import { ServiceError } from '@session-service/contract'
import { makeFolder } from '@session-service/server-kit'

/** A recording needs some files of its own. */
const LEAST_INODES = 64
const MIB = 1_048_576

/** @throws ServiceError NO_CAPACITY when nothing can be written to the folder, or too little */
export async function requireSpaceIn(folder: string, leastMib: number): Promise<void> {
  const { bavail, bsize, files, ffree } = await writable(folder)
  const freeMib = Math.floor((Number(bavail) * Number(bsize)) / MIB)
  if (freeMib < leastMib) {
    throw new ServiceError('NO_CAPACITY', `not enough disk for recordings: ${freeMib} MiB free of ${leastMib} needed`)
  }
  // Some file systems do not count their files, and say 0 of 0.
  if (files > 0 && ffree < LEAST_INODES) {
    throw new ServiceError('NO_CAPACITY', `not enough disk for recordings: only ${ffree} files more`)
  }
}

async function writable(folder: string): Promise<Awaited<ReturnType<typeof statfs>>> {
  try {
    await makeFolder(folder)
    await access(folder, constants.W_OK | constants.X_OK)
    return await statfs(folder)
  } catch (error) {
    // Where it is the log says, with the cause: whoever asks for a recording need not know.
    const text = 'the folder of recordings (SERVICE_RECORDING_PATH) cannot be written to'
    throw new ServiceError('NO_CAPACITY', text, { cause: error })
  }
}
