import { writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { metrics } from '@session-service/server-kit'
import { Logger } from '@nestjs/common'
import { plainCue, type SpokenSentence, VTT_HEADER, voiceCue } from '../../speech-to-text/transcript-formats.js'
import type { MuxJob, Subtitles } from './muxed-file.js'
import { languageCode } from './language-codes.js'
import { type Cue, cuesOf, type Segment, withoutOverlaps } from './subtitle-cues.js'

const logger = new Logger('RecordingStore')

const failures = metrics.counter('recording_subtitle_failures_total', {
  help: 'Recordings, or files of INDIVIDUAL recordings, that lack subtitles because of a failure',
  labels: {},
})

/** A subtitle track to be added to a media file. */
export interface SubtitleTrack {
  path: string
  lang: string
  /** ISO 639-2. */
  code: string | undefined
}

/** Longest name of a file without its extension. */
const MAX_STEM = 235

/** `<stem>.vtt`, with several languages `<stem>-<language>.vtt`. */
export function subtitleName(stem: string, { lang }: Subtitles, all: readonly Subtitles[]): string {
  return `${all.length === 1 ? stem : `${stem}-${lang.replaceAll(/[^\w~-]/g, '_')}`.slice(0, MAX_STEM)}.vtt`
}

/** Writes one WebVTT file for each language of the sentences within the segments, as `<stem>.<n>.vtt`. */
export function writeSubtitles(
  sentences: readonly SpokenSentence[],
  segments: readonly Segment[],
  { stem, job }: { stem: string; job: MuxJob },
): Promise<Subtitles[]> {
  return withoutFailure(job, [], () =>
    Promise.all(
      byLanguage(cuesOf(sentences, segments)).map(async ([lang, cues], index) => {
        const path = join(job.scratchDir, `${stem}.${index}.vtt`)
        await writeFile(path, VTT_HEADER + cues.map((cue) => voiceCue(cue, cue.sentence)).join(''))
        return { lang, path }
      }),
    ),
  )
}

/** Writes the files of the subtitle tracks of a composed recording: no overlaps, and names as text. */
export function writeTracks(segments: readonly Segment[], job: MuxJob): Promise<SubtitleTrack[]> {
  return withoutFailure(job, [], () =>
    Promise.all(
      byLanguage(cuesOf(job.sentences, segments)).map(async ([lang, cues], index) => {
        const path = join(job.scratchDir, `track.${index}.vtt`)
        const text = withoutOverlaps(cues).map((overlap) => plainCue(overlap, overlap.sentences))
        await writeFile(path, VTT_HEADER + text.join(''))
        return { path, lang, code: languageCode(lang) }
      }),
    ),
  )
}

/** Gives `fallback` after a failure, because a recording without subtitles is better than none. */
export async function withoutFailure<T>(
  { recordingId, signal }: MuxJob,
  fallback: T,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run()
  } catch (error) {
    signal.throwIfAborted()
    subtitlesFailed(recordingId, error)
    return fallback
  }
}

export function subtitlesFailed(recordingId: string, error: unknown): void {
  failures.inc({})
  logger.warn({ err: error, recordingId }, 'making the subtitles of a recording failed')
}

/** The options of ffmpeg that copy all tracks of the first input, and add these from the following inputs. */
export function trackOptions(
  tracks: readonly SubtitleTrack[],
  to: string,
): Record<'inputs' | 'maps' | 'codecs', string[]> {
  const codecs = ['-c:v', 'copy', '-c:a', 'copy', '-c:s', extname(to) === '.mp4' ? 'mov_text' : 'copy']
  return {
    inputs: tracks.flatMap(({ path }) => ['-f', 'webvtt', '-i', `file:${path}`]),
    maps: tracks.flatMap((_, index) => ['-map', String(index + 1)]),
    codecs: [
      ...(tracks.length === 0 ? ['-c', 'copy'] : codecs),
      ...tracks.flatMap(({ lang, code }, index) => [
        ...(code === undefined ? [] : [`-metadata:s:s:${index}`, `language=${code}`]),
        ...[`-metadata:s:s:${index}`, `title=${lang}`, `-metadata:s:s:${index}`, `handler_name=${lang}`],
      ]),
    ],
  }
}

/** In the order of their first sentences. */
const byLanguage = (cues: readonly Cue[]): [string, Cue[]][] => [
  ...Map.groupBy(cues, ({ sentence }) => sentence.lang).entries(),
]
