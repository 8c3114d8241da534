import { beforeEach, describe, expect, it } from '@jest/globals'
import { ReplayedStreams } from './replayed-streams.js'
import type { TimelineEntry } from './timeline.js'

let sent: string[]
let streams: ReplayedStreams
beforeEach(() => {
  sent = []
  streams = new ReplayedStreams((...words) => void sent.push(words.join(' ')))
})

const published = (source: number, isActive = true): TimelineEntry => ({
  event: 'published',
  at: 0,
  source,
  name: `P${source}`,
  isScreen: false,
  isActive,
})
const added = (source: number, video = 96): TimelineEntry => ({
  event: 'added',
  at: 0,
  source,
  codec: 'VP8',
  video,
  audio: 111,
})
const changed = (source: number, isActive: boolean): TimelineEntry => ({ event: 'changed', at: 0, source, isActive })
const replaced = (source: number, by: number): TimelineEntry => ({ event: 'replaced', at: 0, source, by })
const apply = (...entries: TimelineEntry[]): void => entries.forEach((entry) => streams.apply(entry))
const shown = (): string[] =>
  streams.shown.map(({ id, name, showsPicture }) => `${id} ${name} ${showsPicture ? 'picture' : 'name'}`)

describe('a stream', () => {
  it('is shown by name until its first picture', () => {
    apply(published(1), added(1))
    expect(shown()).toEqual(['1 P1 name'])
    streams.decoded(1)
    expect(shown()).toEqual(['1 P1 picture'])
    expect(sent).toEqual(['add 1 VP8 96 111'])
  })

  it('is shown by name while it is muted, and until the next picture after that', () => {
    apply(published(1), added(1))
    streams.decoded(1)
    apply(changed(1, false))
    expect(shown()).toEqual(['1 P1 name'])
    apply(changed(1, true))
    expect(shown()).toEqual(['1 P1 name'])
    expect(sent.at(-1)).toBe('await 1')
    streams.decoded(1)
    expect(shown()).toEqual(['1 P1 picture'])
  })

  it('is shown by name when its pictures are refused', () => {
    apply(published(1), added(1))
    streams.decoded(1)
    streams.refused(1)
    expect(shown()).toEqual(['1 P1 name'])
  })

  it('is removed when it is unpublished, and others keep their order', () => {
    apply(published(1), published(2), published(3), added(2), { event: 'unpublished', at: 0, source: 2 })
    expect(shown()).toEqual(['1 P1 name', '3 P3 name'])
    expect(sent).toEqual(['add 2 VP8 96 111', 'remove 2'])
  })
})

describe('replaced media', () => {
  it('is shown from its first picture on, and heard from then on', () => {
    apply(published(1), added(1))
    streams.decoded(1)
    apply(replaced(1, 2), added(2))
    expect(shown()).toEqual(['1 P1 picture'])
    expect(sent.at(-1)).toBe('add 2 VP8 96 -1')
    streams.decoded(2)
    expect(shown()).toEqual(['2 P1 picture'])
    expect(sent.slice(-2)).toEqual(['remove 1', 'add 2 VP8 96 111'])
  })

  it.each([
    ['is muted', () => apply(changed(1, false)), () => undefined],
    ['becomes muted', () => undefined, () => apply(changed(2, false))],
    ['gets media that is refused', () => undefined, () => streams.refused(2)],
  ])('is taken at once when its stream %s', (_, before, after) => {
    apply(published(1), added(1))
    streams.decoded(1)
    before()
    apply(replaced(1, 2), added(2))
    after()
    expect(shown()).toEqual(['2 P1 name'])
    expect(sent).toContain('remove 1')
    expect(sent.at(-1)).toMatch(/^add 2 VP8 (96|-1) 111$/)
  })

  it('that is replaced before its first picture is forgotten', () => {
    apply(published(1), added(1))
    streams.decoded(1)
    apply(replaced(1, 2), added(2), replaced(2, 3), added(3))
    streams.decoded(3)
    expect(shown()).toEqual(['3 P1 picture'])
    expect(sent.filter((line) => line.startsWith('remove'))).toEqual(['remove 2', 'remove 1'])
  })
})
