import type { types } from 'mediasoup'
import type { CatchUp, CatchUpReceiver } from '../tracks/catch-up.js'
import { LANE_LAYERS, LIVE_LAYER } from './camera-layers.js'
import { CameraReceiver } from './camera-receiver.js'

/** By the number of free lanes: how long receivers are gathered for the next one, ms. */
const GATHER_MS = [Infinity, 400, 150]
const SHORTEST_GATHER_MS = 50
/** A receiver that has not received a burst tries another one, ms. */
const BURST_TIMEOUT_MS = 500
const MOST_BURSTS = 4
/** The worker measures the bitrate of a lane over this time, ms. */
const WORKER_WINDOW_MS = 2_500
/** The worker changes to no other layer of a new track, ms. */
const YOUNG_MS = 2_100
/** The bitrate of a camera is its highest of the last seconds, of which each has one value. */
const BITRATE_SECONDS = 5

/** The program that sends the layers. */
interface LaneSender {
  burst(layer: number): void
  rest(layer: number): void
}

/** A receiver of the camera. */
interface LaneReceiver {
  /** The layer that it receives. */
  readonly layer: number | undefined
  /** Since its start. */
  readonly bursts: number
  /** Called when what it needs may have changed. */
  readonly onNeed: () => void
  startOn(lane: number): Promise<void>
  prefer(layer: number): Promise<void>
}

/** The end of a burst. */
export interface Burst {
  layer: number
  pictures: number
  bytes: number
}

/** A layer on which a group of receivers starts. */
interface Lane {
  layer: number
  receivers: Set<LaneReceiver>
  /** When its last receiver left it. */
  restedAt: number
}

/** Gives the receivers of a camera that start between two key frames the pictures since the last one. */
export class CameraLanes implements CatchUp {
  readonly liveLayer = LIVE_LAYER
  readonly #lanes: readonly Lane[] = LANE_LAYERS.map((layer) => ({
    layer,
    receivers: new Set(),
    restedAt: -Infinity,
  }))
  /** Receivers that do not have the live pictures yet. */
  readonly #starting = new Set<LaneReceiver>()
  /** Receivers that wait for a lane. */
  readonly #waiting = new Set<LaneReceiver>()
  #gathering: NodeJS.Timeout | undefined
  #isSending = false
  #youngUntil: number | undefined
  /** Bitrate in each of the last seconds, kbps. */
  #kbps: readonly number[] = []
  #bytes = 0
  /** Bytes of the bursts since the last second. */
  #burstBytes = 0

  constructor(private readonly sender: LaneSender) {}

  receive(consumer: types.Consumer, transport: types.WebRtcTransport, onNeed: () => void): CatchUpReceiver {
    return new CameraReceiver(consumer, transport, this, onNeed)
  }

  get kbps(): number {
    return Math.max(0, ...this.#kbps)
  }

  /** The camera has sent its first picture. */
  started(): void {
    this.#isSending = true
    this.#youngUntil ??= performance.now() + YOUNG_MS
    this.#bytes = 0
    this.#kbps = []
    this.#gather()
  }

  /** Each second: what the camera has sent since the start. */
  sent(bytes: number): void {
    const kbps = ((bytes - this.#bytes + (this.#burstBytes * 1_000) / WORKER_WINDOW_MS) * 8) / 1_000
    this.#kbps = [...this.#kbps, kbps].slice(-BITRATE_SECONDS)
    this.#bytes = bytes
    this.#burstBytes = 0
    for (const receiver of this.#starting) receiver.onNeed()
  }

  /** The camera is not read any more. */
  stopped(): void {
    this.#isSending = false
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    for (const lane of this.#lanes) this.#release(lane, lane.receivers)
  }

  add(receiver: LaneReceiver): void {
    this.#starting.add(receiver)
    this.#waiting.add(receiver)
    this.#gather()
  }

  remove(receiver: LaneReceiver): void {
    this.#starting.delete(receiver)
    this.#waiting.delete(receiver)
    for (const lane of this.#lanes) if (lane.receivers.has(receiver)) this.#leave(lane, receiver)
  }

  /** 0 pictures: nothing is kept. */
  burstSent({ layer, pictures, bytes }: Burst): void {
    const lane = this.#lanes.find((each) => each.layer === layer)
    if (!lane) return
    if (pictures === 0) return this.#release(lane, lane.receivers)
    this.#burstBytes += bytes
    const receivers = [...lane.receivers]
    setTimeout(() => this.#retry(lane, receivers), BURST_TIMEOUT_MS).unref()
  }

  #gather(): void {
    const delayMs = GATHER_MS[this.#free.length] ?? SHORTEST_GATHER_MS
    if (this.#gathering || !this.#isSending || this.#waiting.size === 0 || delayMs === Infinity) return
    const youngMs = (this.#youngUntil ?? 0) - performance.now()
    this.#gathering = setTimeout(
      () => {
        this.#gathering = undefined
        const lane = this.#freeLane
        if (lane && this.#waiting.size > 0) void this.#burst(lane)
      },
      Math.max(delayMs, youngMs),
    )
  }

  get #free(): Lane[] {
    return this.#lanes.filter(({ receivers }) => receivers.size === 0)
  }

  /** The highest one of those that the worker takes for silent, else the one that was used first. */
  get #freeLane(): Lane | undefined {
    const free = this.#free
    const silentSince = performance.now() - WORKER_WINDOW_MS
    return free.find(({ restedAt }) => restedAt < silentSince) ?? free.toSorted((a, b) => a.restedAt - b.restedAt).at(0)
  }

  /** The worker must know the lane of the receivers before the key frame arrives there. */
  async #burst(lane: Lane): Promise<void> {
    for (const receiver of this.#waiting) lane.receivers.add(receiver)
    this.#waiting.clear()
    await Promise.all([...lane.receivers].map((receiver) => receiver.startOn(lane.layer)))
    if (lane.receivers.size > 0) this.sender.burst(lane.layer)
  }

  #retry(lane: Lane, receivers: readonly LaneReceiver[]): void {
    const missed = receivers.filter((receiver) => lane.receivers.has(receiver) && receiver.layer !== lane.layer)
    this.#release(lane, missed)
    for (const receiver of missed) if (receiver.bursts < MOST_BURSTS) this.#waiting.add(receiver)
    this.#gather()
  }

  /** The receivers leave the lane, and wait for the next key frame of the live pictures. */
  #release(lane: Lane, receivers: Iterable<LaneReceiver>): void {
    for (const receiver of receivers) {
      if (!lane.receivers.has(receiver)) continue
      void receiver.prefer(LIVE_LAYER)
      this.#leave(lane, receiver)
    }
  }

  #leave(lane: Lane, receiver: LaneReceiver): void {
    lane.receivers.delete(receiver)
    if (lane.receivers.size > 0) return
    lane.restedAt = performance.now()
    this.sender.rest(lane.layer)
    this.#gather()
  }
}
