import { expect, it } from '@jest/globals'
import { seededRandom } from './fixtures/random.js'
import { type Arrival, type Placement, Timeline } from './timeline.js'

const PACKET = 960
const PACKET_MS = 20

/** Places packets of 20 ms that begin at these times of the publisher, each arriving when it ends. */
function place(timeline: Timeline, begins: readonly number[], more: Partial<Arrival> & { base?: number } = {}) {
  const { base = 1000, ...arrival } = more
  return begins.map((begin) =>
    timeline.place(
      { timestamp: (base + begin * 48) >>> 0, samples: PACKET },
      { at: begin + PACKET_MS, isTimely: true, ...arrival },
    ),
  )
}

it('begins where the first packet arrived', () => {
  expect(place(new Timeline(), [5000])).toEqual([{ position: 80_000, gap: 80_000 }])
})

it.each([
  ['packets without a gap', [0, 20, 40], [0, 320, 640], [0, 0, 0]],
  ['a lost packet', [0, 40], [0, 640], [0, 320]],
  ['a pause of DTX', [0, 400, 800], [0, 6400, 12_800], [0, 6080, 6080]],
  ['an hour of silence', [0, 3_600_000], [0, 57_600_000], [0, 57_599_680]],
])('%s keeps the positions of real time', (_name, begins, positions, gaps) => {
  const placed = place(new Timeline(), begins)
  expect(placed.map((placement) => placement?.position)).toEqual(positions)
  expect(placed.map((placement) => placement?.gap)).toEqual(gaps)
})

it('timestamps that wrap make no gap', () => {
  const placed = place(new Timeline(), [0, 20, 40, 60], { base: 2 ** 32 - PACKET - 100 })
  expect(placed.map((placement) => placement?.gap)).toEqual([0, 0, 0, 0])
})

it.each([
  ['a new base of timestamps', 4_000_000_000, true],
  ['an unannounced earlier base', -1_000_000, false],
  ['an unannounced later base', 10_000_000, false],
])('after %s the time of arrival decides', (_name, base, isRestart) => {
  const timeline = new Timeline()
  place(timeline, [0, 20])
  expect(place(timeline, [3040], { base, isRestart })).toEqual([{ position: 48_640, gap: 48_000 }])
  expect(place(timeline, [3060], { base })).toEqual([{ position: 48_960, gap: 0 }])
})

it('a pause during which timestamps stood still is silence', () => {
  const timeline = new Timeline()
  place(timeline, [0, 20])
  const after = { timestamp: 1000 + 2 * PACKET, samples: PACKET }
  expect(timeline.place(after, { at: 60_060, isTimely: true })).toEqual({ position: 960_640, gap: 960_000 })
})

it('packets that waited because this process was stalled have no gap', () => {
  const timeline = new Timeline()
  place(timeline, [0, 20])
  const stalled = [40, 60, 80].map((begin) =>
    timeline.place({ timestamp: 1000 + begin * 48, samples: PACKET }, { at: 5000, isTimely: false }),
  )
  expect(stalled.map((placement) => placement?.position)).toEqual([640, 960, 1280])
  expect(place(timeline, [5000])[0]?.position).toBe(80_000)
})

it('delay on the way within a second makes no gap', () => {
  const timeline = new Timeline()
  place(timeline, [0, 20])
  expect(timeline.place({ timestamp: 1000 + 40 * 48, samples: PACKET }, { at: 900, isTimely: true })?.gap).toBe(0)
})

it('a first packet that was late does not delay what follows the next pause', () => {
  const timeline = new Timeline()
  timeline.place({ timestamp: 1000, samples: PACKET }, { at: 420, isTimely: true })
  expect(place(timeline, [20, 40]).map((placement) => placement?.position)).toEqual([6720, 7040])
  expect(place(timeline, [1000])).toEqual([{ position: 16_000, gap: 16_000 - 7360 }])
})

/** The greatest distance of positions from real time, ms, in the last half of two hours, and the dropped packets. */
function twoHours(ppm: number, hasDtx: boolean): { error: number; dropped: number; back: number } {
  const timeline = new Timeline()
  const random = seededRandom(7)
  let error = 0
  let dropped = 0
  let back = 0
  let last = 0
  for (let sent = 0; sent < 7_200_000;) {
    // Speech of 5 s, then a pause of 5 s.
    const isSpeech = sent % 10_000 < 5000
    const timestamp = 1000 + sent * 48
    const at = sent * (1 - ppm / 1e6) + PACKET_MS + random() ** 3 * 60
    const placed: Placement | undefined = timeline.place(
      { timestamp: timestamp >>> 0, samples: PACKET },
      { at, isTimely: true, canAdjust: !isSpeech },
    )
    if (placed) {
      if (placed.position < last) back++
      last = placed.position + PACKET / 3
      if (sent > 3_600_000) error = Math.max(error, Math.abs(placed.position / 16 - sent * (1 - ppm / 1e6)))
    } else dropped++
    sent += !isSpeech && hasDtx ? 400 : PACKET_MS
  }
  return { error, dropped, back }
}

it.each([
  [100, false],
  [100, true],
  [-100, false],
  [-100, true],
  [500, false],
  [-500, true],
])('a publisher whose clock deviates by %d ppm (DTX: %s) stays within 80 ms of real time for hours', (ppm, hasDtx) => {
  const { error, dropped, back } = twoHours(ppm, hasDtx)
  expect(back).toBe(0)
  expect(error).toBeLessThan(80)
  expect(dropped).toBeLessThanOrEqual(Math.max(0, (1.3 * ppm * 7.2) / PACKET_MS))
})

it.each(Array.from({ length: 20 }, (_, seed) => seed))(
  'random loss, pauses, delay and restarts: positions never go back and follow real time (seed %d)',
  (seed) => {
    const random = seededRandom(seed)
    const timeline = new Timeline()
    const wrong: Placement[] = []
    let base = Math.floor(random() * 2 ** 32)
    let end = 0
    for (let begin = 0; begin < 600_000; begin += random() < 0.01 ? 20 * Math.ceil(random() * 2000) : 20) {
      const isRestart = random() < 0.001
      if (isRestart) base = Math.floor(random() * 2 ** 32)
      if (random() < 0.05) continue
      const at = begin + PACKET_MS + random() ** 4 * 100
      const arrival = { at, isTimely: true, isRestart, canAdjust: random() < 0.3 }
      const placed = timeline.place({ timestamp: (base + begin * 48) >>> 0, samples: PACKET }, arrival)
      if (!placed) continue
      const isRight = placed.position >= end && placed.gap === placed.position - end
      if (!isRight || Math.abs(placed.position / 16 - begin) > 150) wrong.push(placed)
      end = placed.position + PACKET / 3
    }
    expect(wrong).toEqual([])
    expect(timeline.end).toBe(end)
  },
)
