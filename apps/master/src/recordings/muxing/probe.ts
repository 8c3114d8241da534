import { z } from 'zod'
import { runTool, ToolError } from './tool.js'

/** ffprobe reads only headers, but the disk may be remote. */
const TIMEOUT_MS = 60_000

const Report = z.object({
  streams: z
    .array(
      z.object({
        codec_type: z.string().optional(),
        codec_name: z.string().optional(),
        duration: z.coerce.number().optional(),
      }),
    )
    .default([]),
  format: z.object({ duration: z.coerce.number().optional() }).default({}),
})

export interface MediaFacts {
  /** Seconds, without subtitles if possible; undefined when the file does not contain it. */
  duration: number | undefined
  /** Names of the codecs; undefined when there is no such track. */
  audio: string | undefined
  video: string | undefined
}

/** Reads the duration and codecs of a media file; undefined when nothing in it can be played. */
export async function probe(path: string, signal: AbortSignal): Promise<MediaFacts | undefined> {
  try {
    const entries = 'format=duration:stream=codec_type,codec_name,duration'
    const args = ['-v', 'error', '-show_entries', entries, '-of', 'json', `file:${path}`]
    const report = Report.parse(JSON.parse(await runTool('ffprobe', args, { signal, timeoutMs: TIMEOUT_MS })))
    const codecOf = (type: string): string | undefined =>
      report.streams.find(({ codec_type }) => codec_type === type)?.codec_name
    const mediaDurations = report.streams.flatMap(({ codec_type, duration = 0 }) =>
      codec_type === 'audio' || codec_type === 'video' ? [duration] : [],
    )
    // The last cue may end after the media.
    const hasSubtitles = codecOf('subtitle') !== undefined
    const duration = (hasSubtitles && Math.max(0, ...mediaDurations)) || report.format.duration
    const facts = { duration, audio: codecOf('audio'), video: codecOf('video') }
    return facts.audio === undefined && facts.video === undefined ? undefined : facts
  } catch (error) {
    if (error instanceof ToolError) return undefined
    throw error
  }
}
