import { type Clip, type ClipFrame, ClipPlayer } from '../codecs/clip.js'
import { type Paced, pacer } from '../rtp/pacer.js'
import type { RtpSender } from './rtp-sender.js'
import { descriptorBytes, writeDescriptor } from '../codecs/vp8-payload.js'
import { type Dimensions, greyKeyFrame, repeatFrame } from '../codecs/vp8-picture.js'

export interface VideoOptions extends Dimensions {
  /** The bit rate of all layers together. */
  readonly kbps: number
  readonly fps: number
  readonly simulcast: boolean
  readonly luma: number
  /** The time after a key frame in which requests for another one are ignored, ms. */
  readonly deafMs: number
  /** The clip to play instead of the grey picture. */
  readonly clip?: Clip
}

interface Layer extends Dimensions {
  readonly kbps: number
  readonly scaledDownBy: number
}

/** The layers, smallest first: the downscaling and the fraction of the bit rate. */
const SIMULCAST = [
  { scaledDownBy: 4, share: 0.1 },
  { scaledDownBy: 2, share: 0.25 },
  { scaledDownBy: 1, share: 0.65 },
] as const
const SINGLE = [{ scaledDownBy: 1, share: 1 }] as const

/** The cycle of temporal layers, and whether a frame depends only on the base layer. */
const TEMPORAL = [
  { id: 0, sync: false },
  { id: 2, sync: true },
  { id: 1, sync: true },
  { id: 2, sync: false },
] as const

const PAYLOAD_BYTES = 1_100
/** The maximum payload of a packet. */
export const VIDEO_PAYLOAD_BYTES = PAYLOAD_BYTES + descriptorBytes(true)
/** The size of a key frame relative to an inter frame. */
const KEY_FRAME_FACTOR = 4
const GIVE_UP_MS = 200
const SHORTEST_KEY_FRAME_GAP_MS = 50

export const layersOf = ({ simulcast, kbps, width, height }: VideoOptions): readonly Layer[] =>
  (simulcast ? SIMULCAST : SINGLE).map(({ scaledDownBy, share }) => ({
    scaledDownBy,
    kbps: Math.max(1, Math.round(kbps * share)),
    width: Math.round(width / scaledDownBy),
    height: Math.round(height / scaledDownBy),
  }))

/** Returns the due frame at a time since the start; undefined without a decodable frame. */
type Pictures = (sinceMs: number, keyFrameWanted: boolean) => ClipFrame | undefined

/** Creates a key frame and an inter frame that repeats it. */
function greyPictures(layer: Layer, { fps, luma }: VideoOptions): Pictures {
  const frameBytes = Math.round((layer.kbps * 1000) / 8 / fps)
  const key = { data: greyKeyFrame(layer, luma, frameBytes * KEY_FRAME_FACTOR), key: true }
  const inter = { data: repeatFrame(layer, frameBytes), key: false }
  return (_sinceMs, keyFrameWanted) => (keyFrameWanted ? key : inter)
}

function clipPictures(clip: Clip): Pictures {
  const player = new ClipPlayer(clip)
  return (sinceMs) => player.at(sinceMs)
}

/** The frames and the stream state of a layer. */
class LayerStream {
  keyFrameWanted = true
  lastKeyFrameAt = -Infinity
  pictureId = Math.floor(Math.random() * 0x8000)
  tl0PicIdx = 0
  readonly #pictures: Pictures

  constructor(
    layer: Layer,
    options: VideoOptions,
    readonly sender: RtpSender,
  ) {
    this.#pictures = options.clip ? clipPictures(options.clip) : greyPictures(layer, options)
  }

  /** @returns whether it was a key frame; undefined if no frame was sent */
  send(now: number, sinceMs: number, temporal: (typeof TEMPORAL)[number] | undefined): boolean | undefined {
    const picture = this.#pictures(sinceMs, this.keyFrameWanted)
    if (!picture) return undefined
    const { key, data: frame } = picture
    if (key) {
      this.keyFrameWanted = false
      this.lastKeyFrameAt = now
    }
    const layer = key && temporal ? TEMPORAL[0] : temporal
    if (layer?.id === 0) this.tl0PicIdx++
    this.pictureId = (this.pictureId + 1) & 0x7fff
    const timestamp = this.sender.timestampAt(now)
    for (let at = 0; at < frame.length; at += PAYLOAD_BYTES) {
      this.sender.send(timestamp, at + PAYLOAD_BYTES >= frame.length, (packet, offset) => {
        const fields = { start: at === 0, pictureId: this.pictureId }
        const temporalFields = layer && { id: layer.id, sync: layer.sync, tl0PicIdx: this.tl0PicIdx }
        const behind = writeDescriptor(
          packet,
          offset,
          temporalFields ? { ...fields, temporal: temporalFields } : fields,
        )
        return behind + frame.copy(packet, behind, at, Math.min(at + PAYLOAD_BYTES, frame.length))
      })
    }
    return key
  }
}

/** Sends a clip or a grey picture at a constant rate, as one stream or as three simulcast layers of three temporal ones. */
export class VideoSource implements Paced {
  dueAt = 0
  frames = 0
  keyFrames = 0
  #active = true
  #startedAt = 0
  readonly #intervalMs: number
  readonly #streams: readonly LayerStream[]
  readonly #options: VideoOptions

  constructor(options: VideoOptions, layers: readonly Layer[], senders: readonly RtpSender[]) {
    this.#options = options

    this.#intervalMs = 1000 / options.fps
    this.#streams = layers.flatMap((layer, at) => {
      const sender = senders[at]
      return sender ? new LayerStream(layer, options, sender) : []
    })
  }

  get dimensions(): Dimensions {
    const { width, height } = this.#options
    return { width, height }
  }

  get active(): boolean {
    return this.#active
  }

  /** Sends no frames while false; the first frame afterwards is a key frame. */
  set active(active: boolean) {
    if (active && !this.#active) for (const stream of this.#streams) stream.keyFrameWanted = true
    this.#active = active
  }

  start(): void {
    this.dueAt = this.#startedAt = performance.now()
    pacer.add(this)
  }

  stop(): void {
    pacer.remove(this)
  }

  /** Sends a key frame of the layer at the next tick, before its regular time. */
  requestKeyFrame(ssrc: number): void {
    const stream = this.#streams.find(({ sender }) => sender.ssrc === ssrc)
    if (!stream || stream.keyFrameWanted || performance.now() < stream.lastKeyFrameAt + this.#options.deafMs) return
    stream.keyFrameWanted = true
    // The frames of a clip keep their times, because the audio is synchronized with them.
    if (this.#options.clip) return
    this.dueAt = Math.min(this.dueAt, Math.max(performance.now(), stream.lastKeyFrameAt + SHORTEST_KEY_FRAME_GAP_MS))
  }

  run(now: number): void {
    if (this.#active) this.#sendFrame(now)
    this.dueAt = now - this.dueAt > GIVE_UP_MS ? now + this.#intervalMs : this.dueAt + this.#intervalMs
  }

  #sendFrame(now: number): void {
    const temporal = this.#options.simulcast ? TEMPORAL[this.frames % TEMPORAL.length] : undefined
    const sent = this.#streams.map((stream) => stream.send(now, this.dueAt - this.#startedAt, temporal))
    if (sent.some((key) => key !== undefined)) this.frames++
    this.keyFrames += sent.filter(Boolean).length
  }
}
