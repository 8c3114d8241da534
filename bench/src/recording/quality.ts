import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { changes, markOf, type Size, ssim } from './pictures.js'

const run = promisify(execFile)

/** Every fifth picture is compared. */
const COMPARE_EVERY = 5
const MAX_BYTES = 1 << 30

export interface Box extends Size {
  x: number
  y: number
}

export interface Quality {
  /** Similarity of the picture in the box to the scene that was sent. */
  ssim: number
  /** Pictures per second that differ from the one before. */
  picturesPerSecond: number
  /** Bit rate of the whole file. */
  kbps: number
  /** Pictures in the file, as a share of the expected number. */
  frameShare: number
}

/** Decodes the first video track of a file to grey pictures. */
async function greyPictures(file: string, filter: string, { width, height }: Size): Promise<Uint8Array[]> {
  const args = ['-v', 'error', '-i', file, '-map', '0:v', '-vf', `${filter},format=gray`, '-f', 'rawvideo', '-']
  const { stdout } = await run('ffmpeg', args, { encoding: 'buffer', maxBuffer: MAX_BYTES })
  const size = width * height
  return Array.from({ length: Math.floor(stdout.length / size) }, (_, nth) =>
    stdout.subarray(nth * size, (nth + 1) * size),
  )
}

/** A scene and its position in the recording. */
export interface Shown {
  box: Box
  /** The pictures of the scene by number. */
  pictures: ReadonlyMap<number, Uint8Array>
}

/** Reads the pictures of a scene that is shown in the size in which it was sent. */
export async function scenePictures(file: string, box: Box | undefined): Promise<Shown> {
  if (!box) throw new Error(`${file} has no box in the composition`)
  const pictures = await greyPictures(file, 'null', box)
  return { box, pictures: new Map(pictures.map((picture, nth) => [markOf(picture, box) ?? -1 - nth, picture])) }
}

/** Compares the pictures of a recording with the scenes that were sent. */
export async function qualityOf(file: string, shown: readonly Shown[], fps: number): Promise<Quality> {
  const all = await Promise.all(shown.map((one) => qualityOfBox(file, one, fps)))
  const mean = (of: (quality: Quality) => number): number => all.reduce((sum, one) => sum + of(one), 0) / all.length
  return {
    ssim: mean(({ ssim: similarity }) => similarity),
    picturesPerSecond: mean(({ picturesPerSecond }) => picturesPerSecond),
    kbps: mean(({ kbps }) => kbps),
    frameShare: mean(({ frameShare }) => frameShare),
  }
}

async function qualityOfBox(file: string, { box, pictures: scene }: Shown, fps: number): Promise<Quality> {
  const pictures = await greyPictures(file, `crop=${box.width}:${box.height}:${box.x}:${box.y}:exact=1`, box)
  const marks = pictures.map((picture) => markOf(picture, box))
  // The stream may not have been in the composition before its first picture.
  const first = marks.findIndex((mark) => mark !== undefined && scene.has(mark))
  const seconds = (pictures.length - first) / fps
  const similar = pictures.flatMap((picture, nth) => {
    const original = nth >= first && nth % COMPARE_EVERY === 0 ? scene.get(marks[nth] ?? -1) : undefined
    return original ? [ssim(picture, original, box)] : []
  })
  const { size } = await stat(file)
  const duration = await durationOf(file)
  return {
    ssim: similar.reduce((sum, one) => sum + one, 0) / similar.length,
    picturesPerSecond: changes(marks.slice(first)) / seconds,
    kbps: (size * 8) / 1000 / duration,
    frameShare: pictures.length / (duration * fps),
  }
}

async function durationOf(file: string): Promise<number> {
  const args = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file]
  return Number((await run('ffprobe', args)).stdout)
}
