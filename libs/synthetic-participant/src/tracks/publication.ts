import type { MediaKind, PublishedTrack, RtpCapabilities } from '@session-service/contract'
import { randomInt } from 'node:crypto'
import type { PacketSink } from '../transport/media-transport.js'
import { AudioSource } from './audio-source.js'
import type { Clip } from '../codecs/clip.js'
import { type Paced, pacer } from '../rtp/pacer.js'
import { type EncodingOffer, producerParameters } from './rtp-parameters.js'
import { senderReport } from '../rtp/rtcp.js'
import { RtpSender, type TransportSequence } from './rtp-sender.js'
import { DEFAULT_TONE, TONE_LEVEL, tonePacket } from '../codecs/tone.js'
import { layersOf, VIDEO_PAYLOAD_BYTES, VideoSource, type VideoOptions } from './video-source.js'

export interface PublishOptions {
  /** Whether to send audio; default true. */
  audio?: boolean
  /** Whether to send video; default true. */
  video?: boolean
  /** Sends three simulcast layers, like a camera; default false. */
  simulcast?: boolean
  /** The video bit rate of all layers together; default 500, or a lower limit of the server. */
  kbps?: number
  /** Frames per second; default 25. */
  fps?: number
  /** The size of the largest layer; default 640 × 360. */
  width?: number
  height?: number
  /** The brightness of the video, 16…119 or 137…235; default random. */
  luma?: number
  /** The pitch of the tone, Hz, one of `TONES`. */
  tone?: number
  typeOfVideo?: 'CAMERA' | 'SCREEN' | 'CUSTOM'
  /** A clip to play instead of tone and grey video, with its own size and frame rate. Excludes simulcast. */
  clip?: Clip
  /** The time after a key frame in which requests for another one are ignored, ms (browsers: 300); default 0. */
  keyFrameDeafMs?: number
}

/** The statistics of a sent track. */
export interface PublicationStats {
  readonly audio: TrackStats | undefined
  readonly video:
    | (TrackStats & {
        readonly frames: number
        readonly keyFrames: number
        readonly width: number
        readonly height: number
      })
    | undefined
}
export interface TrackStats {
  readonly packets: number
  /** Payload bytes. */
  readonly bytes: number
  /** The number of retransmitted packets. */
  readonly resent: number
  /** The number of received PLI and FIR messages. */
  readonly keyFrameRequests: number
}

const trackSum = <T extends TrackStats>(before: TrackStats, since: T): T => ({
  ...since,
  packets: before.packets + since.packets,
  bytes: before.bytes + since.bytes,
  resent: before.resent + since.resent,
  keyFrameRequests: before.keyFrameRequests + since.keyFrameRequests,
})

/** Adds the statistics of lost media to the current ones. */
export function mergeStats(before: PublicationStats | undefined, { audio, video }: PublicationStats): PublicationStats {
  return {
    audio: audio && before?.audio ? trackSum(before.audio, audio) : audio,
    video:
      video && before?.video
        ? {
            ...trackSum(before.video, video),
            frames: before.video.frames + video.frames,
            keyFrames: before.video.keyFrames + video.keyFrames,
          }
        : video,
  }
}

const DEFAULT_KBPS = 500
const AUDIO_PAYLOAD_BYTES = 512
const AUDIO_HISTORY = 32
const VIDEO_HISTORY = 128
/** The first reports are frequent, because a receiver of simulcast needs one of each layer before it can switch. */
const FIRST_REPORTS_MS = 100
const REPORTS_MS = 1_000
const FIRST_REPORTS = 10

interface PublicationContext {
  readonly transport: PacketSink
  readonly capabilities: RtpCapabilities
  readonly cname: string
  readonly sequence: TransportSequence
  readonly nextMid: () => string
  /** The limit of the server; 0 = none. */
  readonly maxSendKbps: number
}

const pictureOf = ({ fps, width, height }: Clip) => ({ fps, width, height })
const randomSsrc = (): number => randomInt(0x1000, 0xffff_ffff)
const randomLuma = (): number => (randomInt(2) ? randomInt(20, 115) : randomInt(141, 230))

/** The sources, senders and sender reports of a published stream. */
export class Publication {
  readonly tracks: readonly PublishedTrack[]
  readonly audio: AudioSource | undefined
  readonly video: VideoSource | undefined
  readonly luma: number
  readonly #senders: Record<MediaKind, RtpSender[]> = { audio: [], video: [] }
  readonly #reports: Paced
  #reportsSent = 0
  readonly #context: PublicationContext

  constructor(context: PublicationContext, options: PublishOptions) {
    this.#context = context

    this.luma = options.luma ?? randomLuma()
    const tracks: PublishedTrack[] = []
    if (options.audio ?? true) this.audio = this.#addAudio(tracks, options)
    if (options.video ?? true) this.video = this.#addVideo(tracks, options)
    this.tracks = tracks
    this.#reports = { dueAt: 0, run: (now) => this.#report(now) }
  }

  start(): void {
    this.audio?.start()
    this.video?.start()
    this.#reports.dueAt = performance.now() + FIRST_REPORTS_MS
    pacer.add(this.#reports)
  }

  stop(): void {
    this.audio?.stop()
    this.video?.stop()
    pacer.remove(this.#reports)
  }

  /** Handles a request for an RTP stream of this publication. */
  requestKeyFrame(ssrc: number): void {
    const sender = this.#senders.video.find((candidate) => candidate.ssrc === ssrc)
    if (!sender) return
    sender.keyFrameRequests++
    this.video?.requestKeyFrame(ssrc)
  }

  resend(ssrc: number, sequences: readonly number[]): void {
    this.#all.find((candidate) => candidate.ssrc === ssrc)?.resend(sequences)
  }

  stats(): PublicationStats {
    const { audio, video } = this
    return {
      audio: audio && this.#trackStats('audio'),
      video: video && {
        ...this.#trackStats('video'),
        frames: video.frames,
        keyFrames: video.keyFrames,
        ...video.dimensions,
      },
    }
  }

  get #all(): RtpSender[] {
    return [...this.#senders.audio, ...this.#senders.video]
  }

  #trackStats(kind: MediaKind): TrackStats {
    const senders = this.#senders[kind]
    const sum = (of: (sender: RtpSender) => number): number => senders.reduce((total, sender) => total + of(sender), 0)
    return {
      packets: sum(({ packets }) => packets),
      bytes: sum(({ octets }) => octets),
      resent: sum(({ resent }) => resent),
      keyFrameRequests: sum(({ keyFrameRequests }) => keyFrameRequests),
    }
  }

  #addAudio(tracks: PublishedTrack[], options: PublishOptions): AudioSource {
    const [sender] = this.#addTrack(tracks, 'audio', [{ ssrc: randomSsrc() }])
    if (!sender) throw new Error('an audio track needs exactly one encoding')
    return new AudioSource(sender, options.clip?.packets ?? [tonePacket(options.tone ?? DEFAULT_TONE)])
  }

  #addVideo(tracks: PublishedTrack[], options: PublishOptions): VideoSource {
    const {
      kbps = Math.min(DEFAULT_KBPS, this.#context.maxSendKbps || Infinity),
      fps = 25,
      width = 640,
      height = 360,
      simulcast = false,
      keyFrameDeafMs: deafMs = 0,
      clip,
    } = options
    if (clip && simulcast) throw new Error('a clip cannot be sent with simulcast')
    const asked = { kbps, fps, width, height, simulcast, luma: this.luma, deafMs }
    const video: VideoOptions = clip ? { ...asked, ...pictureOf(clip), clip } : asked
    const layers = layersOf(video)
    const encodings = layers.map((layer, at) => ({
      ssrc: randomSsrc(),
      maxBitrate: layer.kbps * 1000,
      ...(simulcast && { rid: `r${at}`, scaleResolutionDownBy: layer.scaledDownBy, scalabilityMode: 'L1T3' }),
    }))
    return new VideoSource(video, layers, this.#addTrack(tracks, 'video', encodings))
  }

  #addTrack(tracks: PublishedTrack[], kind: MediaKind, encodings: readonly EncodingOffer[]): RtpSender[] {
    const { transport, capabilities, cname, sequence } = this.#context
    const mid = this.#context.nextMid()
    const rtpParameters = producerParameters(capabilities, { kind, mid, cname, encodings })
    const [codec] = rtpParameters.codecs
    if (!codec) throw new Error(`no codec for ${kind}`)
    tracks.push({ kind, rtpParameters })
    const audio = kind === 'audio'
    const senders = encodings.map(
      ({ ssrc, rid }) =>
        new RtpSender(
          {
            ssrc,
            payloadType: codec.payloadType,
            clockRate: codec.clockRate,
            mid,
            ...(rid !== undefined && { rid }),
            ...(audio && { audioLevel: TONE_LEVEL }),
            extensions: rtpParameters.headerExtensions ?? [],
            payloadBytes: audio ? AUDIO_PAYLOAD_BYTES : VIDEO_PAYLOAD_BYTES,
            history: audio ? AUDIO_HISTORY : VIDEO_HISTORY,
            sequence,
          },
          transport,
        ),
    )
    this.#senders[kind].push(...senders)
    return senders
  }

  #report(now: number): void {
    const reports = this.#all.flatMap((sender) => sender.figuresAt(now) ?? [])
    for (const figures of reports) this.#context.transport.sendRtcp(senderReport(figures, this.#context.cname))
    this.#reports.dueAt = now + (++this.#reportsSent < FIRST_REPORTS ? FIRST_REPORTS_MS : REPORTS_MS)
  }
}
