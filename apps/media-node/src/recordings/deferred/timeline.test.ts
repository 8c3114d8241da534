import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { parseTimeline, readTimeline, TimelineWriter, type TimelineEntry } from './timeline.js'

const BEGAN = { event: 'began', at: 0, version: 1, startedAt: 1_000 } as const
const ENTRIES: TimelineEntry[] = [
  { event: 'published', at: 1, source: 1, name: 'Ada', isScreen: false, isActive: true },
  { event: 'added', at: 2.5, source: 1, codec: 'VP8', video: 96, audio: -1 },
  { event: 'ended', at: 3 },
]
const lines = (...entries: object[]): string => entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

describe('a timeline', () => {
  let folder: string
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'timeline-'))))
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('is read as it was written', async () => {
    const writer = await TimelineWriter.create(folder, (error) => {
      throw error
    })
    for (const entry of [BEGAN, ...ENTRIES]) writer.write(entry)
    await writer.close()
    expect(await readTimeline(folder)).toEqual({ start: BEGAN, entries: ENTRIES })
  })

  it('is missing when the recording died before it began', async () => {
    expect(await readTimeline(folder)).toBeUndefined()
  })

  it.each([
    ['nothing', '', undefined],
    ['an incomplete first line', '{"event":"beg', undefined],
    ['an incomplete last line', `${lines(BEGAN, ENTRIES[0]!)}{"event":"ch`, [ENTRIES[0]]],
  ])('of a writer that died with %s is read as far as it is complete', (_, text, entries) => {
    expect(parseTimeline(text)?.entries).toEqual(entries)
  })

  it.each([
    ['another version', lines({ ...BEGAN, version: 2 })],
    ['no beginning', lines(ENTRIES[0]!)],
    ['an unknown entry', lines(BEGAN, { event: 'danced', at: 1 })],
  ])('with %s is refused', (_, text) => {
    expect(() => parseTimeline(text)).toThrow()
  })
})
