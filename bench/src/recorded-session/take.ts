import { join } from 'node:path'
import { type Stack, until } from '@session-service/testing'

const READY_MS = 120_000
const FIRST_FILE = `SELECT ended->'files'->0->>'startedAt' AS started_at FROM recording_part WHERE recording_id = $1`

export interface Recorded {
  file: string
  /** When its first file began, as the media node said; not told over REST. */
  startedAt: number
  /** As REST says, s. */
  duration: number
  /** From the answer to the start until the request to stop, and from that request until that answer, s. */
  lasted: { least: number; most: number }
}

/** Starts a recording; what it gives stops it, and waits until it is ready. */
export async function startTake(
  stack: Stack,
  session: string,
  outputMode: 'COMPOSED' | 'INDIVIDUAL',
  more: { resolution?: string } = {},
): Promise<() => Promise<Recorded>> {
  const asked = performance.now()
  const { id } = await stack.api.startRecording({ session, outputMode, ...more })
  const answered = performance.now()
  return async () => {
    const stopAsked = performance.now()
    await stack.api.stopRecording(id)
    const stopAnswered = performance.now()
    const { duration } = await until(`${id} is ready`, () => isReady(stack, id), READY_MS)
    const [part] = await stack.postgres.query(FIRST_FILE, [id])
    return {
      file: join(stack.recordingsFolder, id, `${id}.${outputMode === 'COMPOSED' ? 'mp4' : 'zip'}`),
      startedAt: Number(part?.['started_at']),
      duration,
      lasted: { least: (stopAsked - answered) / 1000, most: (stopAnswered - asked) / 1000 },
    }
  }
}

async function isReady(stack: Stack, id: string) {
  const recording = await stack.api.getRecording(id)
  return ['ready', 'failed'].includes(recording.status) && recording
}
