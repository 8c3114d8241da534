import type { types } from 'mediasoup'
import type { CatchUpReceiver } from '../tracks/catch-up.js'
import { LIVE_LAYER } from './camera-layers.js'

/** Above other videos: these would leave nothing of a low bandwidth, and the worker would stop the camera. */
const PRIORITY = 255
/** Added to what a starting receiver needs, kbps. */
const HEADROOM_KBPS = 2_000
const STEP_KBPS = 500
const MOST_KBPS = 100_000

/** The part of a camera's lanes that a receiver uses. */
interface Lanes {
  /** The bitrate of the camera. */
  readonly kbps: number
  /** It is active and has no picture. */
  add(receiver: CameraReceiver): void
  /** It has the live pictures, or is not active. */
  remove(receiver: CameraReceiver): void
}

/** A subscriber's consumer of a camera's video. */
export class CameraReceiver implements CatchUpReceiver {
  /** The layer that it receives. */
  layer: number | undefined
  /** Since its start. */
  bursts = 0
  #startedAt: number | undefined
  #preferred = LIVE_LAYER
  readonly #update = (): void => this.#changed()
  readonly #layersChanged = (layers: types.ConsumerLayers | undefined): void => this.#received(layers?.spatialLayer)

  constructor(
    private readonly consumer: types.Consumer,
    private readonly transport: types.WebRtcTransport,
    private readonly lanes: Lanes,
    /** Called when `neededKbps` has changed. */
    readonly onNeed: () => void,
  ) {
    // Fails only when it is closed.
    consumer.setPriority(PRIORITY).catch(() => undefined)
    consumer.observer.on('pause', this.#update).on('resume', this.#update).on('layerschange', this.#layersChanged)
    transport.on('icestatechange', this.#update).on('dtlsstatechange', this.#update)
    this.#changed()
  }

  /** Grows while it waits: others may use the bandwidth. */
  get neededKbps(): number {
    if (this.#startedAt === undefined) return 0
    const seconds = (performance.now() - this.#startedAt) / 1_000
    const kbps = (2 * this.lanes.kbps + HEADROOM_KBPS) * (1 + seconds / 4)
    return Math.min(MOST_KBPS, Math.ceil(kbps / STEP_KBPS) * STEP_KBPS)
  }

  async startOn(lane: number): Promise<void> {
    this.bursts++
    await this.prefer(lane)
  }

  async prefer(spatialLayer: number): Promise<void> {
    if (spatialLayer === this.#preferred || this.consumer.closed) return
    this.#preferred = spatialLayer
    // Fails only when it is closed.
    await this.consumer.setPreferredLayers({ spatialLayer }).catch(() => undefined)
  }

  close(): void {
    const { observer } = this.consumer
    observer.off('pause', this.#update).off('resume', this.#update).off('layerschange', this.#layersChanged)
    this.transport.off('icestatechange', this.#update).off('dtlsstatechange', this.#update)
    this.#stop()
  }

  get #isActive(): boolean {
    const { iceState, dtlsState } = this.transport
    const isConnected = (iceState === 'connected' || iceState === 'completed') && dtlsState === 'connected'
    return isConnected && !this.consumer.paused && !this.consumer.producerPaused && !this.consumer.closed
  }

  #changed(): void {
    if (!this.#isActive) this.#stop()
    else if (this.layer !== LIVE_LAYER) this.#start()
  }

  #received(layer: number | undefined): void {
    this.layer = layer
    // The worker changes to the live pictures with their next key frame.
    if (layer === LIVE_LAYER) this.#stop()
    else if (layer === undefined) this.#changed()
    else void this.prefer(LIVE_LAYER)
  }

  #start(): void {
    if (this.#startedAt !== undefined) return
    this.#startedAt = performance.now()
    this.bursts = 0
    this.onNeed()
    this.lanes.add(this)
  }

  #stop(): void {
    void this.prefer(LIVE_LAYER)
    if (this.#startedAt === undefined) return
    this.#startedAt = undefined
    this.lanes.remove(this)
    this.onNeed()
  }
}
