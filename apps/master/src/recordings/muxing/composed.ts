import { join as joinPath } from 'node:path'
import { ServiceError } from '@session-service/contract'
import { Logger } from '@nestjs/common'
import { type DeliveredFile, sizeOf } from './delivered-files.js'
import { type MediaFacts, probe } from './probe.js'
import { join, remux, thumbnail } from './remux.js'
import { ToolFailure } from './tool.js'

const logger = new Logger('RecordingStore')

export interface Workplace {
  /** Where everything that is made lies until it is whole. */
  folder: string
  signal: AbortSignal
}

/** What was made, not yet in its place. */
export interface Made {
  path: string
  extension: string
  /** A picture of it; undefined when there is none. */
  thumbnail?: string
  size: number
  /** Seconds. */
  duration: number
  hasAudio: boolean
  hasVideo: boolean
  /** Parts with a file that nothing could be read of. */
  leftOut: number[]
}

/** One file of a composed recording's parts; a part that nothing can be read of is left out. */
export async function makeComposed(delivered: readonly DeliveredFile[], place: Workplace): Promise<Made> {
  const extension = delivered.some(({ name }) => name.endsWith('.webm')) ? 'webm' : 'mp4'
  const clean: string[] = []
  const leftOut: number[] = []
  for (const { path, name, part } of delivered) {
    const to = joinPath(place.folder, `${clean.length}.${extension}`)
    // One after another: there is one disk.
    if (await cleaned(path, to, place.signal)) clean.push(to)
    else {
      logger.warn(`nothing can be read of ${name} of the recording in ${place.folder}`)
      leftOut.push(part)
    }
  }
  const [first] = clean
  if (first === undefined) throw new ServiceError('NOT_FOUND', 'nothing that was recorded can be played')
  const path = clean.length === 1 ? first : await joined(clean, extension, place)
  const facts = await probe(path, place.signal)
  if (!facts) throw new ServiceError('NOT_FOUND', 'what was made of the recording cannot be played')
  return { path, extension, leftOut, ...(await describe(path, facts, place)) }
}

async function cleaned(from: string, to: string, signal: AbortSignal): Promise<boolean> {
  try {
    await remux({ from: [from], to, signal })
    return (await probe(to, signal)) !== undefined
  } catch (error) {
    if (error instanceof ToolFailure) return false
    throw error
  }
}

async function joined(from: readonly string[], extension: string, { folder, signal }: Workplace): Promise<string> {
  const to = joinPath(folder, `joined.${extension}`)
  await join({ from, to, signal })
  return to
}

async function describe(
  path: string,
  facts: MediaFacts,
  place: Workplace,
): Promise<Omit<Made, 'path' | 'extension' | 'leftOut'>> {
  const size = await sizeOf(path)
  const { duration = 0, audio, video } = facts
  const made = { size, duration, hasAudio: audio !== undefined, hasVideo: video !== undefined }
  if (!made.hasVideo) return made
  const picture = joinPath(place.folder, 'thumbnail.jpg')
  try {
    await thumbnail(path, picture, place.signal)
  } catch (error) {
    // A recording without a picture of it is a recording all the same.
    if (!(error instanceof ToolFailure)) throw error
    logger.warn({ err: error }, 'a recording has no thumbnail')
  }
  return (await sizeOf(picture)) > 0 ? { ...made, thumbnail: picture } : made
}
