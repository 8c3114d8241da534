import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { CameraLanes } from './camera-lanes.js'
import { LANE_LAYERS, LIVE_LAYER } from './camera-layers.js'

/** A new track of the worker: it changes to no other layer for this long, ms. */
const YOUNG_MS = 2_100
const GATHER_MS = 50
const BURST_TIMEOUT_MS = 500
const MOST_BURSTS = 4
const [FIRST = 0, SECOND = 0, THIRD = 0, FOURTH = 0] = LANE_LAYERS

/** A receiver that the worker serves at once, unless it misses bursts. */
class Receiver {
  layer: number | undefined
  bursts = 0
  needs = 0
  readonly preferred: number[] = []
  misses = false
  readonly onNeed = (): void => void this.needs++

  async startOn(lane: number): Promise<void> {
    this.bursts++
    await this.prefer(lane)
  }

  async prefer(layer: number): Promise<void> {
    this.preferred.push(layer)
  }
}

let lanes: CameraLanes
let commands: string[]

beforeEach(() => {
  jest.useFakeTimers()
  commands = []
  lanes = new CameraLanes({
    burst: (layer) => commands.push(`burst ${layer}`),
    rest: (layer) => commands.push(`rest ${layer}`),
  })
})
afterEach(() => void jest.useRealTimers())

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms)

/** The camera has been read for a while. */
async function play(): Promise<void> {
  lanes.started()
  await pass(YOUNG_MS)
}

function add(): Receiver {
  const receiver = new Receiver()
  lanes.add(receiver)
  return receiver
}

/** Sends the receivers the burst of their lane. */
function burst(layer: number, receivers: readonly Receiver[], bytes = 1_000): void {
  for (const receiver of receivers) if (!receiver.misses) receiver.layer = layer
  lanes.burstSent({ layer, pictures: 10, bytes })
}

describe('the receivers of a camera that start', () => {
  it('within a short time share a burst, which begins when the worker knows their lane', async () => {
    await play()
    const receivers = [add()]
    await pass(GATHER_MS - 10)
    receivers.push(add())
    expect(commands).toEqual([])
    await pass(10)
    expect(commands).toEqual([`burst ${FIRST}`])
    expect(receivers.map(({ preferred }) => preferred)).toEqual([[FIRST], [FIRST]])
  })

  it('later get other lanes, the highest first, more slowly when few are free', async () => {
    await play()
    for (const [lane, gatherMs] of [
      [FIRST, GATHER_MS],
      [SECOND, GATHER_MS],
      [THIRD, 150],
      [FOURTH, 400],
    ] as const) {
      commands = []
      const receiver = add()
      await pass(gatherMs - 1)
      expect(commands).toEqual([])
      await pass(1)
      expect(commands).toEqual([`burst ${lane}`])
      burst(lane, [receiver])
    }
  })

  it('wait while all lanes are in use, and start on the one that is free again', async () => {
    await play()
    const first: Receiver[] = []
    for (const lane of LANE_LAYERS) {
      first.push(add())
      await pass(400)
      burst(lane, first.slice(-1))
    }
    commands = []
    const waiting = add()
    await pass(60_000)
    expect(commands).toEqual([])
    lanes.remove(first[1]!)
    expect(commands).toEqual([`rest ${SECOND}`])
    await pass(400)
    expect(commands).toEqual([`rest ${SECOND}`, `burst ${SECOND}`])
    expect(waiting.preferred).toEqual([SECOND])
  })

  it('take the lane that rested first, where the worker still counts the bitrate of all of them', async () => {
    await play()
    const order = [FIRST, SECOND, THIRD, FOURTH]
    for (const lane of order) {
      const receiver = add()
      await pass(GATHER_MS)
      expect(commands.at(-1)).toBe(`burst ${lane}`)
      burst(lane, [receiver])
      lanes.remove(receiver)
    }
    add()
    await pass(GATHER_MS)
    expect(commands.at(-1)).toBe(`burst ${FIRST}`)
  })

  it('wait until the track of the camera is old enough for a change of the layer', async () => {
    lanes.started()
    add()
    await pass(YOUNG_MS - 1)
    expect(commands).toEqual([])
    await pass(1)
    expect(commands).toEqual([`burst ${FIRST}`])
  })

  it('before the camera sends wait for its first picture', async () => {
    const receiver = add()
    await pass(10_000)
    expect([commands, receiver.preferred]).toEqual([[], []])
    await play()
    expect(commands).toEqual([`burst ${FIRST}`])
  })
})

describe('a lane', () => {
  it('rests when the last of its receivers has the live pictures', async () => {
    await play()
    const receivers = [add(), add()]
    await pass(GATHER_MS)
    burst(FIRST, receivers)
    lanes.remove(receivers[0]!)
    expect(commands).toEqual([`burst ${FIRST}`])
    lanes.remove(receivers[1]!)
    expect(commands).toEqual([`burst ${FIRST}`, `rest ${FIRST}`])
  })

  it('is not used for receivers that left before its burst', async () => {
    await play()
    const receiver = add()
    lanes.remove(receiver)
    await pass(60_000)
    expect(commands).toEqual([])
  })

  it('is left by receivers that missed its burst: they get another one, up to a limit, then the live pictures', async () => {
    await play()
    const [lucky, unlucky] = [add(), add()]
    unlucky.misses = true
    for (let count = 1; count <= MOST_BURSTS; count++) {
      await pass(GATHER_MS)
      const layer = Number(commands.at(-1)?.split(' ')[1])
      expect(unlucky.preferred.at(-1)).toBe(layer)
      expect(unlucky.bursts).toBe(count)
      burst(layer, count === 1 ? [lucky, unlucky] : [unlucky])
      await pass(BURST_TIMEOUT_MS)
      expect(unlucky.preferred.at(-1)).toBe(LIVE_LAYER)
    }
    const before = commands.length
    await pass(60_000)
    expect(commands).toHaveLength(before)
    expect([lucky.bursts, lucky.preferred]).toEqual([1, [FIRST]])
  })

  it('is left at once when nothing is kept: its receivers wait for the next key frame', async () => {
    await play()
    const receiver = add()
    await pass(GATHER_MS)
    lanes.burstSent({ layer: FIRST, pictures: 0, bytes: 0 })
    expect(commands).toEqual([`burst ${FIRST}`, `rest ${FIRST}`])
    expect(receiver.preferred).toEqual([FIRST, LIVE_LAYER])
    await pass(60_000)
    expect(commands).toHaveLength(2)
  })

  it('is left when the camera is not read any more', async () => {
    await play()
    const receiver = add()
    await pass(GATHER_MS)
    add()
    lanes.stopped()
    await pass(60_000)
    expect(commands).toEqual([`burst ${FIRST}`, `rest ${FIRST}`])
    expect(receiver.preferred.at(-1)).toBe(LIVE_LAYER)
  })

  it('ignores the end of a burst on another layer', async () => {
    await play()
    add()
    await pass(GATHER_MS)
    lanes.burstSent({ layer: LIVE_LAYER, pictures: 0, bytes: 0 })
    expect(commands).toEqual([`burst ${FIRST}`])
  })
})

describe('the bitrate of a camera', () => {
  it('is the highest of the last five seconds', () => {
    lanes.started()
    expect(lanes.kbps).toBe(0)
    let bytes = 0
    const seen = [125_000, 500_000, 125_000, 125_000, 125_000, 125_000, 125_000].map((each) => {
      lanes.sent((bytes += each))
      return lanes.kbps
    })
    expect(seen).toEqual([1_000, 4_000, 4_000, 4_000, 4_000, 4_000, 1_000])
  })

  it('includes the bursts, and each second the receivers that start learn of it', async () => {
    await play()
    const receiver = add()
    await pass(GATHER_MS)
    burst(FIRST, [receiver], 250_000)
    lanes.sent(125_000)
    // The worker measures a burst over 2.5 s.
    expect(lanes.kbps).toBe(1_800)
    expect(receiver.needs).toBe(1)
    lanes.remove(receiver)
    lanes.sent(250_000)
    expect(receiver.needs).toBe(1)
  })
})
