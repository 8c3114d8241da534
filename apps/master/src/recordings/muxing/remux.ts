import { stat, writeFile } from 'node:fs/promises'
import { probe } from './probe.js'
import { runTool } from './tool.js'

const THUMBNAIL_WIDTH = 480
const LEAST_DEADLINE_MS = 120_000
/** A disk that is slower than this is as good as gone. */
const BYTES_PER_MS = 1_000

const QUIET = ['-nostdin', '-v', 'error', '-y']

interface Remux {
  from: readonly string[]
  to: string
  signal: AbortSignal
}

async function deadlineFor(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size))
  return LEAST_DEADLINE_MS + sizes.reduce((sum, size) => sum + size, 0) / BYTES_PER_MS
}

/** The container's own options: an MP4 is played from its first bytes, and sought in. */
const formatOf = (path: string): readonly string[] => {
  if (path.endsWith('.mp4')) return ['-movflags', '+faststart', '-f', 'mp4']
  return ['-f', path.endsWith('.webm') ? 'webm' : 'matroska']
}

/** The same media in an ordinary file that knows its duration, whatever became of who wrote the first one. */
export async function remux({ from: [only = ''], to, signal }: Remux): Promise<void> {
  // Whoever wrote it may have been killed in the midst of a packet.
  const args = [
    ...QUIET,
    '-fflags',
    '+discardcorrupt',
    '-i',
    `file:${only}`,
    '-map',
    '0',
    '-c',
    'copy',
    ...formatOf(to),
    `file:${to}`,
  ]
  await runTool('ffmpeg', args, { signal, deadlineMs: await deadlineFor([only]) })
}

/** One file of several that were made alike, and were remuxed, so that they know their durations. `to` names a list too. */
export async function join({ from, to, signal }: Remux): Promise<void> {
  const list = `${to}.list`
  const lines = from.map((path) => `file 'file:${path.replaceAll("'", String.raw`'\''`)}'`)
  await writeFile(list, ['ffconcat version 1.0', ...lines, ''].join('\n'))
  const input = ['-f', 'concat', '-safe', '0', '-protocol_whitelist', 'file', '-i', `file:${list}`]
  const args = [...QUIET, ...input, '-map', '0', '-c', 'copy', ...formatOf(to), `file:${to}`]
  await runTool('ffmpeg', args, { signal, deadlineMs: await deadlineFor(from) })
}

/** A picture of what is seen at half the duration. */
export async function thumbnail(video: string, to: string, signal: AbortSignal): Promise<void> {
  const { duration = 0 } = (await probe(video, signal)) ?? {}
  const output = ['-frames:v', '1', '-vf', `scale=${THUMBNAIL_WIDTH}:-2`, '-q:v', '4', '-f', 'image2', '-update', '1']
  for (const at of [duration / 2, 0]) {
    const args = [...QUIET, '-ss', at.toFixed(3), '-i', `file:${video}`, ...output, `file:${to}`]
    await runTool('ffmpeg', args, { signal, deadlineMs: LEAST_DEADLINE_MS })
    // With more sound than pictures there may be none so late.
    const isThere = await stat(to)
      .then(({ size }) => size > 0)
      .catch(() => false)
    if (isThere) return
  }
}
