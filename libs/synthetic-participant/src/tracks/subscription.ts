import type { Layers, SubscribedTrack } from '@session-service/contract'
import type { MediaTransport } from '../transport/media-transport.js'
import { type Paced, pacer } from '../rtp/pacer.js'
import type { ReportBlock } from '../rtp/reception.js'
import { negativeAck, pictureLoss, receiverReport } from '../rtp/rtcp.js'
import { extensionOffset, type SrtpKeys } from '../rtp/srtp.js'
import type { TransportFeedback } from '../rtp/transport-feedback.js'
import { addUp, type ReceivedAudio, type ReceivedVideo, TrackReceiver } from './track-receiver.js'

export interface SubscriptionStats {
  readonly audio: ReceivedAudio | undefined
  /** `currentLayer`: as the server last said; undefined when it has not, null while it sends none. */
  readonly video: (ReceivedVideo & { readonly currentLayer: Layers | null | undefined }) | undefined
}

/** The receiving half of one stream. */
export class Subscription {
  /** Of the media of the moment. */
  receivers: readonly TrackReceiver[]
  /** As the server last said. */
  currentLayer: Layers | null | undefined
  /** What came over media that was lost. */
  #before: { audio?: ReceivedAudio | undefined; video?: ReceivedVideo | undefined } = {}

  constructor(
    readonly streamId: string,
    /** When it was subscribed to, or the last time that it was again. */
    public createdAt: number,
    tracks: readonly SubscribedTrack[],
  ) {
    this.receivers = tracks.map((track) => new TrackReceiver(track))
  }

  /** Takes the tracks of the media that replaces a lost one; the figures go on. */
  renew(createdAt: number, tracks: readonly SubscribedTrack[]): void {
    this.#before = this.stats()
    this.createdAt = createdAt
    this.currentLayer = undefined
    this.receivers = tracks.map((track) => new TrackReceiver(track))
  }

  /** What has come so far, also over media that was lost; times in epoch ms. */
  stats(): SubscriptionStats {
    const audio = this.#of('audio')?.audioStats()
    const video = this.#of('video')?.videoStats()
    return {
      audio: audio && addUp(this.#before.audio, audio),
      video: video && { ...addUp(this.#before.video, video), currentLayer: this.currentLayer },
    }
  }

  /** Sends a PLI with the next tick. */
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

/** All that one participant receives over its receiving transport, and its feedback on it. */
export class Receiving implements Paced {
  dueAt = 0
  /** Packets of streams nobody here subscribed to: probes of the server, or what came after an unsubscribe. */
  unknownPackets = 0
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #receivers = new Map<number, TrackReceiver>()
  readonly #channel = {
    pictureLoss: (media: number): void => this.transport.sendRtcp(pictureLoss(this.ssrc, media)),
    nack: (media: number, sequences: readonly number[]): void =>
      this.transport.sendRtcp(negativeAck(this.ssrc, media, sequences)),
  }
  #reportAt = 0
  #arrivalsAt = 0

  constructor(
    private readonly transport: MediaTransport,
    private readonly ssrc: number,
    private readonly cname: string,
    private readonly arrivals: TransportFeedback,
    /** Id of the transport-wide sequence number in the headers, if the router has it. */
    private readonly sequenceId: number | undefined,
  ) {}

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
    const sequenceAt = this.sequenceId && extensionOffset(packet, this.sequenceId, headerLength)
    if (sequenceAt) this.arrivals.arrive(packet.readUInt16BE(sequenceAt), packet.length, now)
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
    if (now >= this.#arrivalsAt) this.#tellArrivals(now)
  }

  #tellArrivals(now: number): void {
    this.#arrivalsAt = now + ARRIVALS_MS
    const [media = 0] = this.#receivers.keys()
    for (const feedback of this.arrivals.take(this.ssrc, media, now)) this.transport.sendRtcp(feedback)
  }

  #report(now: number): void {
    this.#reportAt = now + REPORTS_MS
    const blocks = new Map<number, ReportBlock>()
    for (const receiver of this.#receivers.values()) {
      const block = receiver.report(now)
      if (block) blocks.set(receiver.ssrc, block)
    }
    this.transport.sendRtcp(receiverReport(this.ssrc, blocks, this.cname))
  }
}
