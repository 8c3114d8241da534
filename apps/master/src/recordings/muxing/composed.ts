import { extname, join as joinPath } from 'node:path'
import { ServiceError } from '@session-service/contract'
import { Logger } from '@nestjs/common'
import { type DeliveredFile, sizeOf } from './delivered-files.js'
import { type MediaFacts, probe } from './probe.js'
import { join, thumbnail, tryRemux } from './remux.js'
import type { MuxedFile, MuxedMedia, MuxJob, Subtitles } from './muxed-file.js'
import type { Segment } from './subtitle-cues.js'
import { type SubtitleTrack, withoutFailure, writeSubtitles, writeTracks } from './subtitles.js'
import { ToolError } from './tool.js'

const logger = new Logger('RecordingStore')

/** A file may be shorter than its headers say by less than this, s. */
const DURATION_TOLERANCE_S = 0.1

interface Piece extends Segment {
  path: string
}

interface Composed {
  path: string
  facts: MediaFacts
  leftOut: number[]
  subtitles: Subtitles[]
}

/** Joins the parts of a composed recording into one file. Parts that cannot be read are left out. */
export async function makeComposed(delivered: readonly DeliveredFile[], job: MuxJob): Promise<MuxedFile> {
  const extension = delivered.some(({ name }) => name.endsWith('.webm')) ? 'webm' : 'mp4'
  const inOnePass = await withoutFailure(job, undefined, () => remuxWithSubtitles(delivered, extension, job))
  const { path, facts, leftOut, subtitles } = inOnePass ?? (await remuxAndJoin(delivered, extension, job))
  return { path, extension, leftOut, subtitles, ...(await describe(path, facts, job)) }
}

/**
 * Makes the file of a recording with subtitles in one pass. Undefined when that is not possible: it has several parts,
 * no sentences, or its only part is truncated or does not contain its duration.
 */
async function remuxWithSubtitles(
  [file, ...others]: readonly DeliveredFile[],
  extension: string,
  job: MuxJob,
): Promise<Composed | undefined> {
  if (!file || others.length > 0 || job.sentences.length === 0) return undefined
  const { duration } = (await probe(file.path, job.signal)) ?? {}
  if (duration === undefined) return undefined
  const segments = [{ startedAt: file.startedAt, durationMs: duration * 1_000 }]
  const tracks = await writeTracks(segments, job)
  const path = joinPath(job.scratchDir, `subtitled.${extension}`)
  if (tracks.length === 0 || !(await tryRemux(file.path, path, job.signal, tracks))) return undefined
  const facts = await probe(path, job.signal)
  if (!facts || (facts.duration ?? 0) < duration - DURATION_TOLERANCE_S) return undefined
  return { path, facts, leftOut: [], subtitles: await writeSubtitles(job.sentences, segments, { stem: 'joined', job }) }
}

async function remuxAndJoin(delivered: readonly DeliveredFile[], extension: string, job: MuxJob): Promise<Composed> {
  const pieces: Piece[] = []
  const leftOut: number[] = []
  for (const file of delivered) {
    const path = joinPath(job.scratchDir, `${pieces.length}.${extension}`)
    // One after another: they share one disk.
    const facts = (await tryRemux(file.path, path, job.signal)) ? await probe(path, job.signal) : undefined
    if (facts) pieces.push({ path, startedAt: file.startedAt, durationMs: durationMs(file, facts) })
    else {
      const { recordingId } = job
      logger.warn({ recordingId, part: file.part }, `${file.name} of the recording cannot be read, it is left out`)
      leftOut.push(file.part)
    }
  }
  const [first] = pieces
  if (first === undefined) throw new ServiceError('NOT_FOUND', 'nothing that was recorded can be played')
  const tracks = await writeTracks(pieces, job)
  const path = (await tryJoinFiles(pieces, tracks, job)) ?? first.path
  const facts = await probe(path, job.signal)
  if (!facts) throw new ServiceError('NOT_FOUND', 'the finished file of the recording cannot be played')
  return { path, facts, leftOut, subtitles: await writeSubtitles(job.sentences, pieces, { stem: 'joined', job }) }
}

const durationMs = ({ startedAt, endedAt }: DeliveredFile, { duration }: MediaFacts): number =>
  duration === undefined ? endedAt - startedAt : duration * 1_000

/** Without subtitles if adding them fails. Undefined when there is nothing to join. */
async function tryJoinFiles(
  pieces: readonly Piece[],
  tracks: readonly SubtitleTrack[],
  job: MuxJob,
): Promise<string | undefined> {
  const from = pieces.map(({ path }) => path)
  const to = joinPath(job.scratchDir, `joined${extname(from[0] ?? '')}`)
  const joinWith = async (added: readonly SubtitleTrack[]): Promise<string> => {
    await join({ from, to, signal: job.signal, tracks: added })
    return to
  }
  const subtitled = tracks.length > 0 ? await withoutFailure(job, undefined, () => joinWith(tracks)) : undefined
  return subtitled ?? (from.length > 1 ? joinWith([]) : undefined)
}

async function describe(path: string, facts: MediaFacts, job: MuxJob): Promise<MuxedMedia> {
  const size = await sizeOf(path)
  const { duration = 0, audio, video } = facts
  const media = { size, duration, hasAudio: audio !== undefined, hasVideo: video !== undefined }
  if (!media.hasVideo) return media
  const picture = joinPath(job.scratchDir, 'thumbnail.jpg')
  try {
    await thumbnail(path, picture, job.signal)
  } catch (error) {
    // A recording is complete without a thumbnail.
    if (!(error instanceof ToolError)) throw error
    logger.warn({ err: error, recordingId: job.recordingId }, 'making the thumbnail of a recording failed')
  }
  return (await sizeOf(picture)) > 0 ? { ...media, thumbnail: picture } : media
}
