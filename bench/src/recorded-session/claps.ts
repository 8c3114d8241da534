import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

const LOUD_DB = -30
const BRIGHT = 130
/** A flash and a beep that are further apart do not belong together, s. */
const TOGETHER_S = 0.4
const BRIGHTNESS = 'lavfi.signalstats.YAVG'
const LOUDNESS = 'lavfi.astats.Overall.RMS_level'
const LEVEL = 'astats=metadata=1:reset=1'
/** Sound is looked at in pieces of so many samples: 5 ms. */
const SAMPLES = 240

export interface Claps {
  /** When each began, seconds from the beginning of the file. */
  flashes: number[]
  beeps: number[]
}

/** The flashes within a part of the picture (`<width>:<height>:<x>:<y>`, as ffmpeg's `crop` has it), and the beeps. */
export async function clapsOf(file: string, part: string): Promise<Claps> {
  const [flashes, beeps] = await Promise.all([
    rises(file, ['-map', '0:v', '-vf', `crop=${part},scale=16:9,signalstats,${printed('', BRIGHTNESS)}`], BRIGHT),
    rises(file, ['-map', '0:a', '-af', `asetnsamples=${SAMPLES}:p=0,${LEVEL},${printed('a', LOUDNESS)}`], LOUD_DB),
  ])
  return { flashes, beeps }
}

const printed = (kind: '' | 'a', key: string): string => `${kind}metadata=mode=print:key=${key}:file=-`

/** A browser changes the size of its picture on the way: only filters of a file that is decoded follow that. */
async function rises(file: string, filter: readonly string[], threshold: number): Promise<number[]> {
  const args = ['-v', 'error', '-nostdin', '-i', file, ...filter, '-f', 'null', '-']
  const { stdout } = await run('ffmpeg', args, { maxBuffer: 1 << 28 })
  return risesAbove(readFigures(stdout), threshold)
}

/** What ffmpeg's `metadata` prints: a line with a frame's time, then one with its figure. */
export function readFigures(text: string): [number, number][] {
  const lines = text.matchAll(/pts_time:(\S+)[^\n]*\n[^=\n]+=(\S+)/g)
  return [...lines].map(([, at, figure]) => [Number(at), figure === '-inf' ? -Infinity : Number(figure)])
}

/** When a figure rises above a threshold: `[time, figure]`; what is no number is below. */
export const risesAbove = (figures: readonly (readonly [number, number])[], threshold: number): number[] =>
  figures.flatMap(([at, value], nth) => {
    const before = figures[nth - 1]?.[1]
    return before !== undefined && value > threshold && !(before > threshold) ? [at] : []
  })

/** By how many seconds each of the ones comes after the other that it belongs to. */
export function apart(ones: readonly number[], others: readonly number[]): number[] {
  return ones.flatMap((one) => {
    const [nearest] = others.map((other) => one - other).toSorted((a, b) => Math.abs(a) - Math.abs(b))
    return nearest !== undefined && Math.abs(nearest) < TOGETHER_S ? [nearest] : []
  })
}
