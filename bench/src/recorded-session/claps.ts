import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

const LOUD_DB = -30
const BAND_HZ = 400
const BRIGHT = 130
/** Maximum distance between a flash and the beep that belongs to it, s. */
const MAX_OFFSET_S = 0.4
const BRIGHTNESS = 'lavfi.signalstats.YAVG'
const LOUDNESS = 'lavfi.astats.Overall.RMS_level'
const LEVEL = 'astats=metadata=1:reset=1'
/** The sound level is measured over windows of this many samples: 5 ms. */
const WINDOW_SAMPLES = 240

interface Claps {
  /** Start time of each, seconds from the beginning of the file. */
  flashes: number[]
  beeps: number[]
}

/**
 * Finds the flashes in a part of the picture (`<width>:<height>:<x>:<y>` of ffmpeg's `crop`), and the beeps, those of a
 * pitch in Hz or all.
 */
export async function clapsOf(file: string, part: string, pitch?: number): Promise<Claps> {
  const band = pitch === undefined ? '' : `bandpass=f=${pitch}:width_type=h:w=${BAND_HZ},`
  const [flashes, beeps] = await Promise.all([
    rises(file, ['-map', '0:v', '-vf', `crop=${part},scale=16:9,signalstats,${printed('', BRIGHTNESS)}`], BRIGHT),
    rises(
      file,
      ['-map', '0:a', '-af', `${band}asetnsamples=${WINDOW_SAMPLES}:p=0,${LEVEL},${printed('a', LOUDNESS)}`],
      LOUD_DB,
    ),
  ])
  return { flashes, beeps }
}

const printed = (kind: '' | 'a', key: string): string => `${kind}metadata=mode=print:key=${key}:file=-`

/** Filters the decoded file: a browser changes its resolution in mid-stream, and other filters do not follow that. */
async function rises(file: string, filter: readonly string[], threshold: number): Promise<number[]> {
  const args = ['-v', 'error', '-nostdin', '-i', file, ...filter, '-f', 'null', '-']
  const { stdout } = await run('ffmpeg', args, { maxBuffer: 1 << 28 })
  return risesAbove(readFigures(stdout), threshold)
}

/** Parses the output of ffmpeg's `metadata` filter: a line with a frame's time, then one with its value. */
export function readFigures(text: string): [number, number][] {
  const lines = text.matchAll(/pts_time:(\S+)[^\n]*\n[^=\n]+=(\S+)/g)
  return [...lines].map(([, at, figure]) => [Number(at), figure === '-inf' ? -Infinity : Number(figure)])
}

/** Times at which the values of `[time, value]` rise above a threshold; NaN counts as below. */
export const risesAbove = (figures: readonly (readonly [number, number])[], threshold: number): number[] =>
  figures.flatMap(([at, value], nth) => {
    const before = figures[nth - 1]?.[1]
    return before !== undefined && value > threshold && !(before > threshold) ? [at] : []
  })

/** Seconds by which each time comes after the nearest of the others; times without a near one are left out. */
export function offsets(ones: readonly number[], others: readonly number[]): number[] {
  return ones.flatMap((one) => {
    const [nearest] = others.map((other) => one - other).toSorted((a, b) => Math.abs(a) - Math.abs(b))
    return nearest !== undefined && Math.abs(nearest) < MAX_OFFSET_S ? [nearest] : []
  })
}
