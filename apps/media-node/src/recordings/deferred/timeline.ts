import { open, readFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno } from '@session-service/server-kit'
import { z } from 'zod'

const TIMELINE_FILE = 'timeline.jsonl'
/** Increased with each change after which earlier versions cannot be composed in the same way. */
export const TIMELINE_VERSION = 1

/** Since the start of the log of packets, ms. */
const at = z.number().nonnegative()
/** The number of a source in the log of packets: the tracks of a stream, until they are replaced. */
const source = z.number().int().positive()

/**
 * The events while the packets of a recording were logged, one JSON object per line in the order of their times. The
 * composition shows the sources in the order of `published`.
 */
const TimelineEntry = z.discriminatedUnion('event', [
  /** The first one. `startedAt`: the start of the log in UTC ms of the cluster. */
  z.object({ event: z.literal('began'), at, version: z.literal(TIMELINE_VERSION), startedAt: z.number().int() }),
  /** A stream: shown by its name until the first picture. `isActive`: whether its video is unmuted. */
  z.object({
    event: z.literal('published'),
    at,
    source,
    name: z.string(),
    isScreen: z.boolean(),
    isActive: z.boolean(),
  }),
  /** The tracks of the source as they are in the log: the codec and RTP payload type; -1: without this kind. */
  z.object({
    event: z.literal('added'),
    at,
    source,
    codec: z.enum(['VP8', 'VP9', 'H264']),
    video: z.number().int(),
    audio: z.number().int(),
  }),
  /** The publisher muted or unmuted the video. */
  z.object({ event: z.literal('changed'), at, source, isActive: z.boolean() }),
  /** Other tracks follow: `by` takes the place of the source with its first picture, or at once without one. */
  z.object({ event: z.literal('replaced'), at, source, by: source }),
  z.object({ event: z.literal('unpublished'), at, source }),
  /** The recording was stopped; missing when its recorder or its node died. */
  z.object({ event: z.literal('ended'), at }),
])
export type TimelineEntry = z.infer<typeof TimelineEntry>
type TimelineStart = Extract<TimelineEntry, { event: 'began' }>

/** Appends to the timeline of a recording; each entry is in the file when the process dies afterwards. */
export class TimelineWriter {
  #written: Promise<void> = Promise.resolve()

  private constructor(
    private readonly file: FileHandle,
    private readonly onFailed: (error: unknown) => void,
  ) {}

  static async create(folder: string, onFailed: (error: unknown) => void): Promise<TimelineWriter> {
    return new TimelineWriter(await open(join(folder, TIMELINE_FILE), 'wx', 0o600), onFailed)
  }

  write(entry: TimelineEntry): void {
    this.#written = this.#written
      .then(() => this.file.appendFile(`${JSON.stringify(entry)}\n`))
      .catch((error: unknown) => this.onFailed(error))
  }

  async close(): Promise<void> {
    await this.#written
    await this.file.close()
  }
}

export interface Timeline {
  start: TimelineStart
  entries: TimelineEntry[]
}

/** Undefined when the recording died before it began. */
export async function readTimeline(folder: string): Promise<Timeline | undefined> {
  const text = await readFile(join(folder, TIMELINE_FILE), 'utf8').catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return ''
    throw error
  })
  return parseTimeline(text)
}

/** The last line of a writer that died may be incomplete. @throws when another line is not an entry */
export function parseTimeline(text: string): Timeline | undefined {
  const lines = text.split('\n').slice(0, -1)
  const [start, ...entries] = lines.map((line) => TimelineEntry.parse(JSON.parse(line)))
  if (start === undefined) return undefined
  if (start.event !== 'began') throw new Error(`the timeline of the recording begins with ${start.event}`)
  return { start, entries }
}
