import { join } from 'node:path'
import { type Stack, until } from '@session-service/testing'

const READY_MS = 120_000
const FIRST_FILE = `SELECT ended->'files'->0->>'startedAt' AS started_at FROM recording_part WHERE recording_id = $1`

export interface Recorded {
  file: string
  /** Start of its first file, as the media node reported it; not part of the REST interface. */
  startedAt: number
  /** The duration that REST reports, s. */
  duration: number
  /**
   * Bounds of the true duration, s: from the answer to the start until the request to stop, and from the request to
   * start until the answer to the stop.
   */
  bounds: { least: number; most: number }
}

/** Starts a recording. The returned function stops it and waits until it is ready. */
export async function startRecording(
  stack: Stack,
  session: string,
  outputMode: 'COMPOSED' | 'INDIVIDUAL',
  more: { resolution?: string } = {},
): Promise<() => Promise<Recorded>> {
  const startRequested = performance.now()
  const { id } = await stack.api.startRecording({ session, outputMode, ...more })
  const startAnswered = performance.now()
  return async () => {
    const stopRequested = performance.now()
    await stack.api.stopRecording(id)
    const stopAnswered = performance.now()
    const { duration } = await until(`${id} is ready`, () => isReady(stack, id), READY_MS)
    const [part] = await stack.postgres.query(FIRST_FILE, [id])
    return {
      file: join(stack.recordingsFolder, id, `${id}.${outputMode === 'COMPOSED' ? 'mp4' : 'zip'}`),
      startedAt: Number(part?.['started_at']),
      duration,
      bounds: { least: (stopRequested - startAnswered) / 1000, most: (stopAnswered - startRequested) / 1000 },
    }
  }
}

async function isReady(stack: Stack, id: string) {
  const recording = await stack.api.getRecording(id)
  return ['ready', 'failed'].includes(recording.status) && recording
}
