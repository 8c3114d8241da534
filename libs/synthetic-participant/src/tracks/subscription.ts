import type { Layers, SubscribedTrack } from '@session-service/contract'
import type { MediaTransport } from '../transport/media-transport.js'
import { type Paced, pacer } from '../rtp/pacer.js'
import type { ReportBlock } from '../rtp/reception.js'
import { negativeAck, pictureLoss, receiverReport } from '../rtp/rtcp.js'
import { extensionOffset, type SrtpKeys } from '../rtp/srtp.js'
import type { TransportFeedback } from '../rtp/transport-feedback.js'
import { mergeStats, type ReceivedAudio, type ReceivedVideo, TrackReceiver } from './track-receiver.js'

export interface SubscriptionStats {
  readonly audio: ReceivedAudio | undefined
  /** `currentLayer` is the last layer that the server reported: undefined before a report, null while it sends none. */
  readonly video: (ReceivedVideo & { readonly currentLayer: Layers | null | undefined }) | undefined
}

/** A received stream. */
export class Subscription {
  /** The receivers of the current media. */
  receivers: readonly TrackReceiver[]
  /** The last layer that the server reported. */
  currentLayer: Layers | null | undefined
  /** The statistics of lost media. */
  #before: { audio?: ReceivedAudio | undefined; video?: ReceivedVideo | undefined } = {}

  constructor(
    readonly streamId: string,
    /** The time of the latest subscription. */
    public createdAt: number,
    tracks: readonly SubscribedTrack[],
  ) {
    this.receivers = tracks.map((track) => new TrackReceiver(track))
  }

  /** Replaces the tracks after a loss of the media and keeps the statistics. */
  renew(createdAt: number, tracks: readonly SubscribedTrack[]): void {
    this.#before = this.stats()
    this.createdAt = createdAt
    this.currentLayer = undefined
    this.receivers = tracks.map((track) => new TrackReceiver(track))
  }

  /** The statistics, including lost media; times in epoch ms. */
  stats(): SubscriptionStats {
    const audio = this.#of('audio')?.audioStats()
    const video = this.#of('video')?.videoStats()
    return {
      audio: audio && mergeStats(this.#before.audio, audio),
      video: video && { ...mergeStats(this.#before.video, video), currentLayer: this.currentLayer },
    }
  }

  /** Sends a PLI at the next tick. */
  requestKeyFrame(): void {
    this.#of('video')?.requestKeyFrame()
  }

  #of(kind: 'audio' | 'video'): TrackReceiver | undefined {
    return this.receivers.find(({ track }) => track.kind === kind)
  }
}

const TICK_MS = 20
const REPORTS_MS = 1_000
const ARRIVALS_MS = 100

/** The subscriptions of a receiving transport, and its feedback to the server. */
export class Receiving implements Paced {
  dueAt = 0
  /** The number of packets of unknown streams: probes of the server, or packets after an unsubscribe. */
  unknownPackets = 0
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #receivers = new Map<number, TrackReceiver>()
  readonly #channel = {
    pictureLoss: (media: number): void => this.#transport.sendRtcp(pictureLoss(this.#ssrc, media)),
    nack: (media: number, sequences: readonly number[]): void =>
      this.#transport.sendRtcp(negativeAck(this.#ssrc, media, sequences)),
  }
  #reportAt = 0
  #arrivalsAt = 0
  readonly #transport: MediaTransport
  readonly #ssrc: number
  readonly #cname: string
  readonly #arrivals: TransportFeedback
  /** The id of the header extension for transport-wide sequence numbers, if the router supports it. */
  readonly #sequenceId: number | undefined

  constructor(
    transport: MediaTransport,
    ssrc: number,
    cname: string,
    arrivals: TransportFeedback,
    sequenceId: number | undefined,
  ) {
    this.#transport = transport
    this.#ssrc = ssrc
    this.#cname = cname
    this.#arrivals = arrivals
    this.#sequenceId = sequenceId
  }

  add(subscription: Subscription): void {
    if (this.#subscriptions.size === 0) pacer.add(this)
    this.#subscriptions.set(subscription.streamId, subscription)
    for (const receiver of subscription.receivers) this.#receivers.set(receiver.ssrc, receiver)
  }

  get(streamId: string): Subscription | undefined {
    return this.#subscriptions.get(streamId)
  }

  get all(): readonly Subscription[] {
    return [...this.#subscriptions.values()]
  }

  remove(streamId: string): void {
    const subscription = this.#subscriptions.get(streamId)
    if (!subscription) return
    this.#subscriptions.delete(streamId)
    for (const { ssrc } of subscription.receivers) this.#receivers.delete(ssrc)
    if (this.#subscriptions.size === 0) pacer.remove(this)
  }

  clear(): void {
    for (const streamId of this.#subscriptions.keys()) this.remove(streamId)
  }

  onRtp(packet: Buffer, headerLength: number, keys: SrtpKeys): void {
    const now = performance.now()
    const sequenceAt = this.#sequenceId && extensionOffset(packet, this.#sequenceId, headerLength)
    if (sequenceAt) this.#arrivals.arrive(packet.readUInt16BE(sequenceAt), packet.length, now)
    const receiver = this.#receivers.get(packet.readUInt32BE(8))
    if (receiver) receiver.receive(packet, headerLength, keys, now)
    else this.unknownPackets++
  }

  onSenderReport(ssrc: number, middleNtp: number): void {
    this.#receivers.get(ssrc)?.reception.senderReport(middleNtp, performance.now())
  }

  run(now: number): void {
    this.dueAt = now + TICK_MS
    for (const receiver of this.#receivers.values()) receiver.tick(now, this.#channel)
    if (now >= this.#reportAt) this.#report(now)
    if (now >= this.#arrivalsAt) this.#sendArrivals(now)
  }

  #sendArrivals(now: number): void {
    this.#arrivalsAt = now + ARRIVALS_MS
    const [media = 0] = this.#receivers.keys()
    for (const feedback of this.#arrivals.take(this.#ssrc, media, now)) this.#transport.sendRtcp(feedback)
  }

  #report(now: number): void {
    this.#reportAt = now + REPORTS_MS
    const blocks = new Map<number, ReportBlock>()
    for (const receiver of this.#receivers.values()) {
      const block = receiver.report(now)
      if (block) blocks.set(receiver.ssrc, block)
    }
    this.#transport.sendRtcp(receiverReport(this.#ssrc, blocks, this.#cname))
  }
}
