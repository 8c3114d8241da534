import { join as joinPath } from 'node:path'
import { ServiceError } from '@session-service/contract'
import { Logger } from '@nestjs/common'
import { type DeliveredFile, sizeOf } from './delivered-files.js'
import { type MediaFacts, probe } from './probe.js'
import { join, thumbnail, tryRemux } from './remux.js'
import type { MuxedFile, MuxedMedia, MuxJob } from './muxed-file.js'
import { ToolError } from './tool.js'

const logger = new Logger('RecordingStore')

/** Joins the parts of a composed recording into one file. Parts that cannot be read are left out. */
export async function makeComposed(delivered: readonly DeliveredFile[], job: MuxJob): Promise<MuxedFile> {
  const extension = delivered.some(({ name }) => name.endsWith('.webm')) ? 'webm' : 'mp4'
  const readable: string[] = []
  const leftOut: number[] = []
  for (const { path, name, part } of delivered) {
    const to = joinPath(job.scratchDir, `${readable.length}.${extension}`)
    // One after another: they share one disk.
    if ((await tryRemux(path, to, job.signal)) && (await probe(to, job.signal))) readable.push(to)
    else {
      logger.warn(`${name} of the recording in ${job.scratchDir} cannot be read, it is left out`)
      leftOut.push(part)
    }
  }
  const [first] = readable
  if (first === undefined) throw new ServiceError('NOT_FOUND', 'nothing that was recorded can be played')
  const path = readable.length === 1 ? first : await joinFiles(readable, extension, job)
  const facts = await probe(path, job.signal)
  if (!facts) throw new ServiceError('NOT_FOUND', 'the finished file of the recording cannot be played')
  return { path, extension, leftOut, ...(await describe(path, facts, job)) }
}

async function joinFiles(from: readonly string[], extension: string, { scratchDir, signal }: MuxJob): Promise<string> {
  const to = joinPath(scratchDir, `joined.${extension}`)
  await join({ from, to, signal })
  return to
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
    logger.warn({ err: error }, 'making the thumbnail of a recording failed')
  }
  return (await sizeOf(picture)) > 0 ? { ...media, thumbnail: picture } : media
}
