import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { median } from '../figures/statistics.js'
import { apart, clapsOf } from './claps.js'
import type { Recorded } from './take.js'

const run = promisify(execFile)

export interface Finding {
  what: string
  found: string
  fulfilled: boolean
}

/** Who beeps and flashes. */
const CLAPPER = 'Ada'
/** Within the clapper's picture, however many there are beside it. */
const CLAPPER_IN_COMPOSITION = '200:100:240:220'
/** A browser that is overrun sends smaller pictures. */
export const CLAPPER_ALONE = 'iw/3:ih/3:iw/3:ih/2'
const DURATION_S = 0.5
const COMPOSED_APART_S = 0.08
const INDIVIDUAL_APART_S = 0.05
/** Two pictures. */
const OFFSETS_APART_S = 0.08
const SHEET = { columns: 4, rows: 4, width: 400 }

export const check = ({ what, found, fulfilled }: Finding): string => `${fulfilled ? 'yes' : 'NO '}  ${what}: ${found}`

const within = (what: string, seconds: number, most: number): Finding => ({
  what: `${what} within ${most * 1000} ms`,
  found: `${(seconds * 1000).toFixed(0)} ms`,
  fulfilled: Math.abs(seconds) <= most,
})

const DECODED = ['-fps_mode', 'passthrough', '-enc_time_base', '-1', '-f', 'null', '-']

/** By how much a duration is shorter than from the answer to the start, or longer than from its request. */
const outside = (seconds: number, { least, most }: Recorded['lasted']): number =>
  Math.min(0, seconds - least) + Math.max(0, seconds - most)

/** What decoders complain of in a whole file; not that two packets have the same millisecond, as the output does. */
async function decodes(what: string, file: string): Promise<Finding> {
  const { stderr } = await run('ffmpeg', ['-v', 'error', '-nostdin', '-i', file, ...DECODED])
  const lines = stderr.split('\n').filter((line) => line.trim() && !/^\[null @|^ +Last message/.test(line))
  return {
    what: `${what} decodes without a complaint`,
    found: lines.join('; ') || 'nothing',
    fulfilled: lines.length === 0,
  }
}

async function durationOf(file: string): Promise<number> {
  const args = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file]
  return Number((await run('ffprobe', args)).stdout)
}

export async function contactSheet({ file, lasted }: Recorded, sheet: string): Promise<void> {
  const { columns, rows, width } = SHEET
  const filter = `fps=${(columns * rows) / lasted.least},scale=${width}:-2,tile=${columns}x${rows}:padding=8:color=gray`
  await run('ffmpeg', ['-v', 'error', '-nostdin', '-y', '-i', file, '-vf', filter, '-frames:v', '1', sheet])
}

export async function checkComposed(
  { file, lasted, duration }: Recorded,
  part = CLAPPER_IN_COMPOSITION,
): Promise<{ findings: Finding[]; flashes: number[] }> {
  const { flashes, beeps } = await clapsOf(file, part)
  const late = apart(beeps, flashes)
  const seconds = await durationOf(file)
  const findings = [
    await decodes('composed', file),
    within('composed: duration against start and stop', outside(seconds, lasted), DURATION_S),
    within('composed: duration against what REST says', seconds - duration, DURATION_S),
    within(`composed: beep after flash, median of ${late.length}`, median(late), COMPOSED_APART_S),
    {
      what: 'composed: a flash a second',
      found: `${flashes.length} in ${seconds.toFixed(1)} s`,
      fulfilled: flashes.length >= seconds - 3,
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

/** A composition of the same people at the same time. */
export interface Beside {
  composed: Recorded
  flashes: readonly number[]
}

export async function checkIndividual({ file }: Recorded, folder: string, beside?: Beside): Promise<Finding[]> {
  await run('unzip', ['-q', '-o', file, '-d', folder])
  const json = (await readdir(folder)).find((name) => name.endsWith('.json'))
  if (json === undefined) return [{ what: 'individual: a description', found: 'none', fulfilled: false }]
  const { createdAt, files } = Description.parse(JSON.parse(await readFile(join(folder, json), 'utf8')))
  const findings: Finding[] = []
  for (const each of files) {
    const path = join(folder, each.name)
    const name = `individual ${each.clientData} ${each.typeOfVideo ?? ''}`
    const seconds = await durationOf(path)
    const said = (each.endTimeOffset - each.startTimeOffset) / 1000
    findings.push(await decodes(name, path))
    findings.push(within(`${name}: duration against its offsets`, seconds - said, DURATION_S))
    if (each.clientData.includes(CLAPPER) && each.typeOfVideo !== 'SCREEN')
      findings.push(...(await checkClapper(name, path, createdAt + each.startTimeOffset, beside)))
  }
  return findings
}

async function checkClapper(name: string, path: string, beganAt: number, beside?: Beside): Promise<Finding[]> {
  const { flashes, beeps } = await clapsOf(path, CLAPPER_ALONE)
  const late = apart(beeps, flashes)
  const sync = within(`${name}: beep after flash, median of ${late.length}`, median(late), INDIVIDUAL_APART_S)
  if (!beside) return [sync]
  const shift = (beganAt - beside.composed.startedAt) / 1000
  const moved = apart(
    flashes.map((at) => at + shift),
    beside.flashes,
  )
  const what = `${name}: flashes by its offset against the composed file's, median of ${moved.length}`
  return [sync, within(what, median(moved), OFFSETS_APART_S)]
}
