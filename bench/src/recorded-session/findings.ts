import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { Finding } from '../benchmark/findings.js'
import { median } from '../figures/statistics.js'
import { offsets, clapsOf } from './claps.js'
import type { Recorded } from './recording.js'

const run = promisify(execFile)

/** The participant that beeps and flashes. */
const CLAPPER = 'Ada'
/** An area that lies within the clapper's picture in every layout of the session. */
const CLAPPER_IN_COMPOSITION = '200:100:240:220'
/** Relative to the size of the picture: an overloaded browser sends a lower resolution. */
export const CLAPPER_ALONE = 'iw/3:ih/3:iw/3:ih/2'
const MAX_DURATION_ERROR_S = 0.5
const MAX_COMPOSED_OFFSET_S = 0.08
const MAX_INDIVIDUAL_OFFSET_S = 0.05
/** The length of two pictures. */
const MAX_START_OFFSET_S = 0.08
const SHEET = { columns: 4, rows: 4, width: 400 }

const within = (name: string, seconds: number, most: number): Finding => ({
  name: `${name} within ${most * 1000} ms`,
  found: `${(seconds * 1000).toFixed(0)} ms`,
  passed: Math.abs(seconds) <= most,
})

const DECODED = ['-fps_mode', 'passthrough', '-enc_time_base', '-1', '-f', 'null', '-']

/** Seconds by which a duration lies below (negative) or above its bounds. */
const outside = (seconds: number, { least, most }: Recorded['bounds']): number =>
  Math.min(0, seconds - least) + Math.max(0, seconds - most)

/** Decodes the whole file and reports the decoder's errors. Ignores those of the null output about equal timestamps. */
async function decodes(name: string, file: string): Promise<Finding> {
  const { stderr } = await run('ffmpeg', ['-v', 'error', '-nostdin', '-i', file, ...DECODED])
  const lines = stderr.split('\n').filter((line) => line.trim() && !/^\[null @|^ +Last message/.test(line))
  return {
    name: `${name} decodes without errors`,
    found: lines.join('; ') || 'nothing',
    passed: lines.length === 0,
  }
}

async function durationOf(file: string): Promise<number> {
  const args = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file]
  return Number((await run('ffprobe', args)).stdout)
}

export async function contactSheet({ file, bounds }: Recorded, sheet: string): Promise<void> {
  const { columns, rows, width } = SHEET
  const filter = `fps=${(columns * rows) / bounds.least},scale=${width}:-2,tile=${columns}x${rows}:padding=8:color=gray`
  await run('ffmpeg', ['-v', 'error', '-nostdin', '-y', '-i', file, '-vf', filter, '-frames:v', '1', sheet])
}

interface WhereClapped {
  /** The area of the flashes. */
  part?: string
  /** The pitch of the beeps, Hz; default: all. */
  pitch?: number
  /** Between a flash and its beep, s. */
  mostOffset?: number
}

export async function checkComposed(
  { file, bounds, duration }: Recorded,
  { part = CLAPPER_IN_COMPOSITION, pitch, mostOffset = MAX_COMPOSED_OFFSET_S }: WhereClapped = {},
): Promise<{ findings: Finding[]; flashes: number[] }> {
  const { flashes, beeps } = await clapsOf(file, part, pitch)
  const delays = offsets(beeps, flashes)
  const seconds = await durationOf(file)
  const findings = [
    await decodes('composed', file),
    within('composed: duration against the times of start and stop', outside(seconds, bounds), MAX_DURATION_ERROR_S),
    within('composed: duration against the one that REST reports', seconds - duration, MAX_DURATION_ERROR_S),
    within(`composed: beep after flash, median of ${delays.length}`, median(delays), mostOffset),
    {
      name: 'composed: one flash per second',
      found: `${flashes.length} in ${seconds.toFixed(1)} s`,
      passed: flashes.length >= seconds - 3,
    },
  ]
  return { findings, flashes }
}

const Entry = z.object({
  name: z.string(),
  clientData: z.string(),
  hasVideo: z.boolean(),
  typeOfVideo: z.string().optional(),
  startTimeOffset: z.number(),
  endTimeOffset: z.number(),
})
type Entry = z.infer<typeof Entry>
const Description = z.object({ createdAt: z.number(), files: z.array(Entry) })

/** A composition of the same participants, recorded at the same time, to compare with. */
interface ParallelComposition {
  composed: Recorded
  flashes: readonly number[]
}

export async function checkIndividual(
  { file }: Recorded,
  folder: string,
  parallel?: ParallelComposition,
): Promise<Finding[]> {
  await run('unzip', ['-q', '-o', file, '-d', folder])
  const json = (await readdir(folder)).find((name) => name.endsWith('.json'))
  if (json === undefined) return [{ name: 'individual: a description', found: 'none', passed: false }]
  const { createdAt, files } = Description.parse(JSON.parse(await readFile(join(folder, json), 'utf8')))
  const findings: Finding[] = []
  for (const each of files) {
    const path = join(folder, each.name)
    const name = `individual ${each.clientData} ${each.typeOfVideo ?? ''}`
    const seconds = await durationOf(path)
    const reported = (each.endTimeOffset - each.startTimeOffset) / 1000
    findings.push(await decodes(name, path))
    findings.push(within(`${name}: duration against its offsets`, seconds - reported, MAX_DURATION_ERROR_S))
    const claps = each.clientData.includes(CLAPPER) || each.typeOfVideo === 'IPCAM'
    if (claps && each.typeOfVideo !== 'SCREEN')
      findings.push(...(await checkClapper(name, path, createdAt + each.startTimeOffset, parallel)))
  }
  return findings
}

async function checkClapper(
  name: string,
  path: string,
  startedAt: number,
  parallel?: ParallelComposition,
): Promise<Finding[]> {
  const { flashes, beeps } = await clapsOf(path, CLAPPER_ALONE)
  const delays = offsets(beeps, flashes)
  const sync = within(`${name}: beep after flash, median of ${delays.length}`, median(delays), MAX_INDIVIDUAL_OFFSET_S)
  if (!parallel) return [sync]
  const shift = (startedAt - parallel.composed.startedAt) / 1000
  const differences = offsets(
    flashes.map((at) => at + shift),
    parallel.flashes,
  )
  const title = `${name}: flashes by its offset against the composed file's, median of ${differences.length}`
  return [sync, within(title, median(differences), MAX_START_OFFSET_S)]
}
