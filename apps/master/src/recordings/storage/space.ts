import { access, constants, statfs } from 'node:fs/promises'
import { ServiceError } from '@session-service/contract'
import { makeFolder } from '@session-service/server-kit'
import { diskFull } from '../muxing/disk-full.js'

/** A recording creates several files. */
const MIN_INODES = 64
const MIB = 1_048_576

/** @throws ServiceError NO_CAPACITY when the folder is not writable, or has less free space than `minMib` */
export async function requireSpaceIn(folder: string, minMib: number): Promise<void> {
  const { bavail, bsize, files, ffree } = await statWritable(folder)
  const freeMib = Math.floor((Number(bavail) * Number(bsize)) / MIB)
  if (freeMib < minMib) throw diskFull(`${freeMib} MiB free of ${minMib} needed`)
  // Some file systems do not count inodes, and report 0 of 0.
  if (files > 0 && ffree < MIN_INODES) throw diskFull(`only ${ffree} inodes free`)
}

async function statWritable(folder: string): Promise<Awaited<ReturnType<typeof statfs>>> {
  try {
    await makeFolder(folder)
    await access(folder, constants.W_OK | constants.X_OK)
    return await statfs(folder)
  } catch (error) {
    // The log has the path, with the cause; clients of the REST interface need not know it.
    const text = 'the folder of recordings (SERVICE_RECORDING_PATH) cannot be written to'
    throw new ServiceError('NO_CAPACITY', text, { cause: error })
  }
}
