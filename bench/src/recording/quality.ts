import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { changes, markOf, type Size, ssim } from './pictures.js'

const run = promisify(execFile)

/** Each so many-th picture is compared. */
const EACH = 5
const MOST_BYTES = 1 << 30

export interface Box extends Size {
  x: number
  y: number
}

export interface Quality {
  /** Of the picture in the box, to the scene that was sent. */
  ssim: number
  /** That show something else than the one before. */
  picturesPerSecond: number
  /** Of the whole file. */
  kbps: number
  /** Pictures in the file, for each that there should be. */
  frameShare: number
}

/** The pictures of a file's first video track, grey. */
async function greyPictures(file: string, filter: string, { width, height }: Size): Promise<Uint8Array[]> {
  const args = ['-v', 'error', '-i', file, '-map', '0:v', '-vf', `${filter},format=gray`, '-f', 'rawvideo', '-']
  const { stdout } = await run('ffmpeg', args, { encoding: 'buffer', maxBuffer: MOST_BYTES })
  const size = width * height
  return Array.from({ length: Math.floor(stdout.length / size) }, (_, nth) =>
    stdout.subarray(nth * size, (nth + 1) * size),
  )
}

/** A scene, and where it is seen. */
export interface Shown {
  box: Box
  /** Its pictures by number. */
  pictures: ReadonlyMap<number, Uint8Array>
}

/** A scene that is shown as large as it was sent. */
export async function scenePictures(file: string, box: Box | undefined): Promise<Shown> {
  if (!box) throw new Error(`${file} is shown nowhere`)
  const pictures = await greyPictures(file, 'null', box)
  return { box, pictures: new Map(pictures.map((picture, nth) => [markOf(picture, box) ?? -1 - nth, picture])) }
}

/** Compares what a recording shows with the scenes that were sent. */
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
  // Before the first it may not have been there yet.
  const first = marks.findIndex((mark) => mark !== undefined && scene.has(mark))
  const seconds = (pictures.length - first) / fps
  const similar = pictures.flatMap((picture, nth) => {
    const original = nth >= first && nth % EACH === 0 ? scene.get(marks[nth] ?? -1) : undefined
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
