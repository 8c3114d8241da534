import type { SubscribedTrack } from '@session-service/contract'
import { epochMs } from '../rtp/pacer.js'
import { Reception, type ReportBlock } from '../rtp/reception.js'
import type { SrtpKeys } from '../rtp/srtp.js'
import { FrameReader } from '../codecs/frame-reader.js'

/** The delay before the first repetition of a NACK, doubled each time. */
const NACK_REPEAT_MS = 80
const NACK_TRIES = 4
/** A longer gap is an interruption, which is not repaired. */
const LONGEST_REPAIR = 64
const FIRST_PLI_MS = 600
const PLI_REPEAT_MS = 1_000

export interface ReceivedAudio {
  readonly packets: number
  /** The number of payload bytes. */
  readonly bytes: number
  /** The number of lost packets without repaired ones. */
  readonly lost: number
  readonly duplicates: number
  /** The number of packets with an invalid tag. */
  readonly undecryptable: number
  /** Epoch ms with fractions. */
  readonly firstPacketAt: number | undefined
  readonly lastPacketAt: number | undefined
  /** Arrival by `performance.now()` minus RTP timestamp of the last packet, ms. */
  readonly transitMs: number | undefined
}

export interface ReceivedVideo extends ReceivedAudio {
  /** The number of complete frames. */
  readonly frames: number
  readonly keyFrames: number
  /** The arrival of the last packet of the first complete key frame, after which video can be displayed. */
  readonly firstKeyFrameAt: number | undefined
  readonly lastKeyFrameAt: number | undefined
  /** The size of the last key frame. */
  readonly width: number | undefined
  readonly height: number | undefined
  readonly pictureLossesSent: number
  readonly nacksSent: number
}

/** Adds the counts before and since the replacement of a track, and keeps the earlier first times. */
export function mergeStats<T extends ReceivedAudio | ReceivedVideo>(before: T | undefined, since: T): T {
  if (!before) return since
  const total: Record<string, number | undefined> = { ...since }
  for (const [name, value] of Object.entries(before) as [string, number | undefined][]) {
    if (name.startsWith('first')) total[name] = value ?? total[name]
    else if (name in COUNTED) total[name] = (total[name] ?? 0) + (value ?? 0)
    else total[name] ??= value
  }
  return total as unknown as T
}
/** All counters. */
const COUNTED: { [N in keyof ReceivedVideo]?: true } = {
  packets: true,
  bytes: true,
  lost: true,
  duplicates: true,
  undecryptable: true,
  frames: true,
  keyFrames: true,
  pictureLossesSent: true,
  nacksSent: true,
}

interface FeedbackChannel {
  pictureLoss(ssrc: number): void
  nack(ssrc: number, sequences: readonly number[]): void
}

interface Gap {
  tries: number
  askAt: number
}

/** A received RTP stream: decrypts and counts packets, requests retransmissions and key frames. */
export class TrackReceiver {
  readonly reception: Reception
  readonly ssrc: number
  /** No packets are expected while paused. */
  paused: boolean
  #bytes = 0
  #undecryptable = 0
  #firstPacketAt: number | undefined
  #lastPacketAt: number | undefined
  #firstKeyFrameAt: number | undefined
  #lastKeyFrameAt: number | undefined
  readonly #frames: FrameReader | undefined
  readonly #gaps = new Map<number, Gap>()
  /** Whether the server supports retransmission; mediasoup does not for audio. */
  readonly #repairable: boolean
  #nextPliAt = Infinity
  /** As browsers, it requests no key frame of a track that sends nothing. */
  #isSilent = true
  #pictureLossesSent = 0
  #nacksSent = 0

  constructor(readonly track: SubscribedTrack) {
    const [encoding] = track.rtpParameters.encodings
    const [codec] = track.rtpParameters.codecs
    if (encoding?.ssrc === undefined || !codec) throw new Error(`track ${track.id} has no SSRC or codec`)
    this.ssrc = encoding.ssrc
    this.paused = track.paused
    this.reception = new Reception(codec.clockRate)
    this.#repairable = (codec.rtcpFeedback ?? []).some(({ type, parameter }) => type === 'nack' && !parameter)
    this.#frames = track.kind === 'video' ? new FrameReader(codec.mimeType) : undefined
  }

  /** Expects packets from now on, and a key frame for video. */
  expect(now: number): void {
    this.paused = false
    this.#isSilent = true
    if (this.#frames) this.#nextPliAt = now + FIRST_PLI_MS
  }

  pause(): void {
    this.paused = true
    this.#nextPliAt = Infinity
    this.#gaps.clear()
  }

  receive(packet: Buffer, headerLength: number, keys: SrtpKeys, now: number): void {
    const unrolled = this.reception.unroll(packet.readUInt16BE(2))
    const payload = keys.unprotect(packet, headerLength, Math.floor(unrolled / 0x1_0000))
    if (!payload) {
      this.#undecryptable++
      return
    }
    const timestamp = packet.readUInt32BE(4)
    const { fresh, gapFrom } = this.reception.arrive(unrolled, timestamp, now)
    if (!fresh) return
    this.#bytes += payload.length
    this.#isSilent = false
    this.#lastPacketAt = epochMs(now)
    this.#firstPacketAt ??= this.#lastPacketAt
    this.#gaps.delete(unrolled)
    if (gapFrom !== undefined) this.#noteGap(gapFrom, unrolled, now)
    const marker = ((packet[1] ?? 0) & 0x80) !== 0
    if (this.#frames?.read(unrolled, timestamp, payload, marker) === 'key') this.#onKeyFrame(now)
  }

  /** Sends the due retransmission and key frame requests. */
  tick(now: number, channel: FeedbackChannel): void {
    if (this.paused) return
    if (this.#gaps.size > 0) this.#repair(now, channel)
    if (this.#isSilent || now < this.#nextPliAt) return
    this.#nextPliAt = now + PLI_REPEAT_MS
    this.#pictureLossesSent++
    channel.pictureLoss(this.ssrc)
  }

  /** Requests a key frame at the next tick. */
  requestKeyFrame(): void {
    if (this.#frames) this.#nextPliAt = 0
  }

  report(now: number): ReportBlock | undefined {
    return this.reception.report(now)
  }

  audioStats(): ReceivedAudio {
    const { packets, lost, duplicates, transitMs } = this.reception
    return {
      packets,
      bytes: this.#bytes,
      lost,
      duplicates,
      undecryptable: this.#undecryptable,
      firstPacketAt: this.#firstPacketAt,
      lastPacketAt: this.#lastPacketAt,
      transitMs,
    }
  }

  videoStats(): ReceivedVideo {
    return {
      ...this.audioStats(),
      frames: this.#frames?.frames ?? 0,
      keyFrames: this.#frames?.keyFrames ?? 0,
      firstKeyFrameAt: this.#firstKeyFrameAt,
      lastKeyFrameAt: this.#lastKeyFrameAt,
      width: this.#frames?.width,
      height: this.#frames?.height,
      pictureLossesSent: this.#pictureLossesSent,
      nacksSent: this.#nacksSent,
    }
  }

  #onKeyFrame(now: number): void {
    this.#lastKeyFrameAt = epochMs(now)
    this.#firstKeyFrameAt ??= this.#lastKeyFrameAt
    this.#nextPliAt = Infinity
  }

  #noteGap(from: number, until: number, now: number): void {
    if (!this.#repairable || until - from > LONGEST_REPAIR) return this.requestKeyFrame()
    for (let missing = from; missing < until; missing++) this.#gaps.set(missing, { tries: 0, askAt: now })
  }

  #repair(now: number, channel: FeedbackChannel): void {
    const wanted: number[] = []
    for (const [missing, gap] of this.#gaps) {
      if (gap.askAt > now) continue
      if (gap.tries++ >= NACK_TRIES) {
        this.#gaps.delete(missing)
        this.requestKeyFrame()
      } else {
        gap.askAt = now + NACK_REPEAT_MS * 2 ** (gap.tries - 1)
        wanted.push(missing & 0xffff)
      }
    }
    if (wanted.length === 0) return
    this.#nacksSent++
    channel.nack(this.ssrc, wanted)
  }
}
