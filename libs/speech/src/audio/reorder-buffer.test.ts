import { expect, it } from '@jest/globals'
import { seededRandom } from './fixtures/random.js'
import { type Ordered, ReorderBuffer } from './reorder-buffer.js'

interface Numbered {
  sequence: number
}

const push = (buffer: ReorderBuffer<Numbered>, sequences: readonly number[], now = 0): number[] =>
  sequences
    .flatMap((sequence) => buffer.push({ sequence: sequence & 0xffff }, now))
    .map(({ packet }) => packet.sequence)

it.each([
  ['in order', [1, 2, 3], [1, 2, 3], {}],
  ['swapped', [1, 3, 2, 4], [1, 2, 3, 4], {}],
  ['over the wrap', [65_534, 0, 65_535, 1], [65_534, 65_535, 0, 1], {}],
  ['twice', [1, 1, 2, 2, 1], [1, 2], { duplicates: 3 }],
  ['before the first', [5, 4, 6], [5, 6], { late: 1 }],
  ['far ahead once', [1, 40_000, 2, 3], [1, 2, 3], {}],
  ['with another base', [1, 2, 40_000, 40_001, 40_002], [1, 2, 40_000, 40_001, 40_002], { restarts: 1 }],
  ['with an earlier base', [9000, 9001, 5, 6], [9000, 9001, 5, 6], { restarts: 1 }],
])('packets that arrive %s come in order', (_name, sequences, ordered, counters) => {
  const buffer = new ReorderBuffer<Numbered>()
  expect(push(buffer, sequences)).toEqual(ordered)
  expect(buffer.counters).toEqual({ lost: 0, late: 0, duplicates: 0, restarts: 0, ...counters })
})

it('gives up a missing packet after 100 ms, which is late afterwards', () => {
  const buffer = new ReorderBuffer<Numbered>()
  push(buffer, [1, 3, 4], 0)
  expect(buffer.expire(99)).toEqual([])
  expect(buffer.expire(100)).toMatchObject([
    { packet: { sequence: 3 }, lost: 1 },
    { packet: { sequence: 4 }, lost: 0 },
  ])
  expect(push(buffer, [2, 5], 101)).toEqual([5])
  expect(buffer.counters).toMatchObject({ lost: 1, late: 1 })
})

it('gives up missing packets when too many wait', () => {
  const buffer = new ReorderBuffer<Numbered>()
  const sequences = Array.from({ length: 17 }, (_, at) => 10 + at)
  expect(push(buffer, [1, ...sequences])).toEqual([1, ...sequences])
  expect(buffer.counters.lost).toBe(8)
  expect(buffer.waiting).toBe(0)
})

it('continues after a long loss', () => {
  const buffer = new ReorderBuffer<Numbered>()
  expect(push(buffer, [1, 2, 2000, 2001])).toEqual([1, 2, 2000, 2001])
  expect(buffer.counters.lost).toBe(1997)
})

it('flushes in order and accepts any sequence next', () => {
  const buffer = new ReorderBuffer<Numbered>()
  push(buffer, [1, 5, 3])
  expect(buffer.flush().map(({ packet }) => packet.sequence)).toEqual([3, 5])
  expect(push(buffer, [40_000, 40_001])).toEqual([40_000, 40_001])
})

it.each(Array.from({ length: 20 }, (_, seed) => seed))(
  'random loss, reordering and duplication: bounded, in order, and each packet counted once (seed %d)',
  (seed) => {
    const random = seededRandom(seed)
    const buffer = new ReorderBuffer<Numbered & { at: number }>()
    const base = Math.floor(random() * 65_536)
    const sent = Array.from({ length: 5000 }, (_, at) => ({ sequence: (base + at) & 0xffff, at: at * 20 }))
    const kept = sent.filter(({ at }) => at === 0 || at === 4999 * 20 || random() > 0.05)
    const arriving = kept
      .flatMap((packet) => (random() < 0.02 ? [packet, packet] : [packet]))
      .map((packet) => ({ ...packet, arrival: packet.at + (packet.at === 0 ? 0 : random() ** 4 * 150) }))
      .sort((a, b) => a.arrival - b.arrival)
    let waiting = 0
    const ordered: Ordered<{ sequence: number; at: number }>[] = []
    for (const packet of arriving) {
      ordered.push(...buffer.expire(packet.arrival), ...buffer.push(packet, packet.arrival))
      waiting = Math.max(waiting, buffer.waiting)
    }
    ordered.push(...buffer.flush())
    expect(waiting).toBeLessThanOrEqual(16)
    const times = ordered.map(({ packet }) => packet.at)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(new Set(times).size).toBe(times.length)
    expect(ordered.length + buffer.counters.late + buffer.counters.duplicates).toBe(arriving.length)
    expect(ordered.length + buffer.counters.lost).toBe(sent.length)
  },
)
