import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RecordingJob } from '@session-service/contract'

/** The log of packets of a deferred recording, in the folder of its job. */
export const PACKETS_FILE = 'packets.log'

/** Whether the job records streams of which it composes its file afterwards. */
export const isDeferred = ({ output }: Pick<RecordingJob, 'output'>): boolean =>
  output.kind === 'COMPOSED' && output.deferred === true

/** Frees the disk space of what a file was composed of. */
export const removePackets = (folder: string): Promise<void> => rm(join(folder, PACKETS_FILE), { force: true })
