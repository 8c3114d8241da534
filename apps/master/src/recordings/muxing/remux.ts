import { stat, writeFile } from 'node:fs/promises'
import { probe } from './probe.js'
import { type SubtitleTrack, trackOptions } from './subtitles.js'
import { runTool, ToolError } from './tool.js'

const THUMBNAIL_WIDTH = 480
const MIN_TIMEOUT_MS = 120_000
/** The slowest disk that the timeout allows for. */
const MIN_BYTES_PER_MS = 1_000

const QUIET = ['-nostdin', '-v', 'error', '-y']

interface JoinOptions {
  from: readonly string[]
  to: string
  signal: AbortSignal
  tracks?: readonly SubtitleTrack[]
}

async function timeoutFor(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size))
  return MIN_TIMEOUT_MS + sizes.reduce((sum, size) => sum + size, 0) / MIN_BYTES_PER_MS
}

/** Options of the container format: faststart lets players begin with the first bytes of an MP4 and seek in it. */
const formatOf = (path: string): readonly string[] => {
  if (path.endsWith('.mp4')) return ['-movflags', '+faststart', '-f', 'mp4']
  return ['-f', path.endsWith('.webm') ? 'webm' : 'matroska']
}

/**
 * Copies the media into a regular file with its duration, also from a file whose writer was killed. False when ffmpeg
 * cannot read the file. `tracks` are added.
 */
export async function tryRemux(
  from: string,
  to: string,
  signal: AbortSignal,
  tracks: readonly SubtitleTrack[] = [],
): Promise<boolean> {
  const { inputs, maps, codecs } = trackOptions(tracks, to)
  // discardcorrupt: a writer that was killed leaves an incomplete packet.
  const args = [
    ...QUIET,
    '-fflags',
    '+discardcorrupt',
    '-i',
    `file:${from}`,
    ...inputs,
    '-map',
    '0',
    ...maps,
    ...codecs,
    ...formatOf(to),
    `file:${to}`,
  ]
  try {
    await runTool('ffmpeg', args, { signal, timeoutMs: await timeoutFor([from]) })
    return true
  } catch (error) {
    if (error instanceof ToolError) return false
    throw error
  }
}

/** Joins remuxed files with the same codecs into one, and adds the subtitle tracks. Writes the list of the inputs to `<to>.list`. */
export async function join({ from, to, signal, tracks = [] }: JoinOptions): Promise<void> {
  const list = `${to}.list`
  const lines = from.map((path) => `file 'file:${path.replaceAll("'", String.raw`'\''`)}'`)
  await writeFile(list, ['ffconcat version 1.0', ...lines, ''].join('\n'))
  const input = ['-f', 'concat', '-safe', '0', '-protocol_whitelist', 'file', '-i', `file:${list}`]
  const { inputs, maps, codecs } = trackOptions(tracks, to)
  const args = [...QUIET, ...input, ...inputs, '-map', '0', ...maps, ...codecs, ...formatOf(to), `file:${to}`]
  await runTool('ffmpeg', args, { signal, timeoutMs: await timeoutFor(from) })
}

/** Writes the picture at half the duration. */
export async function thumbnail(video: string, to: string, signal: AbortSignal): Promise<void> {
  const { duration = 0 } = (await probe(video, signal)) ?? {}
  const output = ['-frames:v', '1', '-vf', `scale=${THUMBNAIL_WIDTH}:-2`, '-q:v', '4', '-f', 'image2', '-update', '1']
  for (const at of [duration / 2, 0]) {
    const args = [...QUIET, '-ss', at.toFixed(3), '-i', `file:${video}`, ...output, `file:${to}`]
    await runTool('ffmpeg', args, { signal, timeoutMs: MIN_TIMEOUT_MS })
    // The video may end before half the duration: then its first picture is taken.
    const exists = await stat(to)
      .then(({ size }) => size > 0)
      .catch(() => false)
    if (exists) return
  }
}
