import type {
  ErrorCode,
  IceParameters,
  SignallingMethod,
  SignallingParams,
  SignallingResult,
  TransportDirection,
} from '@session-service/contract'
import { SignallingError } from '../signalling/signalling-client.js'
import type { Certificate } from '../transport/dtls.js'
import { ParticipantMedia } from './media.js'
import type { TransportFigures } from '../transport/media-transport.js'
import type { ChangeStream, ChangeSubscription, PublishedStream, LinkOptions } from './participant-types.js'
import { mergeStats, type Publication, type PublicationStats, type PublishOptions } from '../tracks/publication.js'
import { Subscription } from '../tracks/subscription.js'

type Request = <M extends SignallingMethod>(method: M, params: SignallingParams<M>) => Promise<SignallingResult<M>>

/** How long the former tracks of a replaced publication are sent. */
const FORMER_MEDIA_MS = 2_000

const refusalOf = (error: unknown): ErrorCode | undefined => (error instanceof SignallingError ? error.code : undefined)

interface Published {
  stream: PublishedStream
  options: PublishOptions
  publication: Publication
  /** The statistics of lost media. */
  before: PublicationStats | undefined
}

interface Subscribed {
  subscription: Subscription
  /** The changes since the subscription. */
  change: ChangeSubscription
}

/** The publications and subscriptions of a participant, restored when its media is replaced. */
export class MediaExchange {
  readonly #published = new Map<string, Published>()
  readonly #subscribed = new Map<string, Subscribed>()
  #media: ParticipantMedia
  #sendAnnounced = false
  #receivingConnected: Promise<void> | undefined
  /** Pending from the loss of the media until all publications and subscriptions are restored. */
  #restored: PromiseWithResolvers<void> | undefined
  /** Streams that appeared during the loss of the own media. */
  #early: Set<string> | undefined
  readonly #joined: SignallingResult<'join'>
  readonly #certificate: Certificate
  readonly #request: Request
  readonly #receiving: LinkOptions

  constructor(
    joined: SignallingResult<'join'>,
    certificate: Certificate,
    request: Request,
    receiving: LinkOptions = {},
  ) {
    this.#joined = joined
    this.#certificate = certificate
    this.#request = request
    this.#receiving = receiving

    this.#media = new ParticipantMedia(joined, certificate, receiving)
  }

  get published(): PublishedStream[] {
    return [...this.#published.values()].map(({ stream }) => stream)
  }

  get subscriptions(): Subscription[] {
    return [...this.#subscribed.values()].map(({ subscription }) => subscription)
  }

  /** The statistics of both current transports. */
  get figures(): Record<TransportDirection, TransportFigures> {
    return this.#media.figures()
  }

  async publish(options: PublishOptions): Promise<PublishedStream> {
    await this.#restored?.promise
    const publication = this.#media.publication(options)
    const { streamId, createdAt } = await this.#offer(publication, options)
    const entry: Published = {
      options,
      publication,
      before: undefined,
      stream: {
        streamId,
        createdAt,
        luma: publication.luma,
        stats: () => mergeStats(entry.before, entry.publication.stats()),
      },
    }
    this.#published.set(streamId, entry)
    this.#media.start(publication)
    return entry.stream
  }

  /** Sends another publication for an own stream, and the former one until its receivers have changed over. */
  async replaceMedia(streamId: string, options: PublishOptions): Promise<PublishedStream> {
    const entry = this.#published.get(streamId)
    if (!entry) throw new Error(`there is no own stream ${streamId}`)
    const media = this.#media
    const [former, publication] = [entry.publication, media.publication(options)]
    await this.#request('replaceMedia', { streamId, tracks: [...publication.tracks] })
    media.start(publication)
    setTimeout(() => media.stop(former), FORMER_MEDIA_MS).unref()
    const before = entry.stream.stats()
    Object.assign(entry, { options, publication, before, stream: { ...entry.stream, luma: publication.luma } })
    return entry.stream
  }

  async unpublish(streamId: string): Promise<void> {
    this.ended(streamId)
    await this.#request('unpublish', { streamId })
  }

  async changeStream(streamId: string, change: ChangeStream): Promise<void> {
    const { reason = change.audioActive === undefined ? 'publishVideo' : 'publishAudio', ...rest } = change
    await this.#request('changeStream', { streamId, reason, ...rest })
    const publication = this.#published.get(streamId)?.publication
    if (publication?.audio && change.audioActive !== undefined) publication.audio.active = change.audioActive
    if (publication?.video && change.videoActive !== undefined) publication.video.active = change.videoActive
  }

  async subscribe(streamId: string): Promise<Subscription> {
    await this.#restored?.promise
    return this.#receive(streamId, (createdAt, tracks) => {
      const subscription = new Subscription(streamId, createdAt, tracks)
      this.#subscribed.set(streamId, { subscription, change: {} })
      return subscription
    })
  }

  async unsubscribe(streamId: string): Promise<void> {
    this.#subscribed.delete(streamId)
    this.#media.receiving.remove(streamId)
    await this.#request('unsubscribe', { streamId })
  }

  async changeSubscription(streamId: string, change: ChangeSubscription): Promise<void> {
    const entry = this.#subscribed.get(streamId)
    await this.#change(streamId, change)
    if (entry) Object.assign(entry.change, change)
  }

  async restartIce(direction: TransportDirection, newPort: boolean): Promise<IceParameters> {
    const { iceParameters } = await this.#request('restartIce', { direction })
    await this.#media.restartIce(direction, iceParameters, newPort)
    return iceParameters
  }

  /** Another participant's stream is interrupted; `appeared` subscribes to it again. */
  interrupted(streamId: string): void {
    this.#media.receiving.remove(streamId)
  }

  /** The server reported the end of an own or another participant's stream. */
  ended(streamId: string): void {
    this.#subscribed.delete(streamId)
    this.interrupted(streamId)
    const entry = this.#published.get(streamId)
    if (!entry) return
    this.#published.delete(streamId)
    this.#media.stop(entry.publication)
  }

  subscriptionTo(streamId: string): Subscription | undefined {
    return this.#subscribed.get(streamId)?.subscription
  }

  /** The media is lost; calls of `publish` and `subscribe` wait until it is restored. */
  lost(): void {
    this.#restored ??= Promise.withResolvers()
    this.#restored.promise.catch(() => undefined)
    this.#early ??= new Set()
    this.#media.close()
  }

  /** Replaces the lost media: publishes again with the same ids, and subscribes to the available streams. */
  async renew(rejoined: SignallingResult<'rejoin'>): Promise<void> {
    this.#media.close()
    this.#media = new ParticipantMedia({ ...this.#joined, ...rejoined }, this.#certificate, this.#receiving)
    this.#sendAnnounced = false
    this.#receivingConnected = undefined
    const available = new Set([...rejoined.snapshot.streams.map(({ streamId }) => streamId), ...(this.#early ?? [])])
    this.#early = undefined
    await Promise.all([this.#publishAll(), ...[...available].map((streamId) => this.appeared(streamId))])
    this.#restored?.resolve()
    this.#restored = undefined
  }

  /** A stream was published; subscribes again if it was subscribed to before the loss. A call after a failed one repeats it. */
  async appeared(streamId: string): Promise<void> {
    // The answer to `rejoin` is pending, so a subscription would use the lost media.
    if (this.#early) return void this.#early.add(streamId)
    const entry = this.#subscribed.get(streamId)
    if (!entry || this.#media.receiving.get(streamId)) return
    const { subscription, change } = entry
    const { receiving } = this.#media
    try {
      if (!(await this.#receiveAgain(subscription))) return
      if (Object.keys(change).length > 0) await this.#change(streamId, change)
    } catch (error) {
      // The tracks may be here and still be paused.
      receiving.remove(streamId)
      throw error
    }
  }

  /** The server forwards other tracks of the stream. */
  async replaced(streamId: string): Promise<void> {
    const entry = this.#subscribed.get(streamId)
    if (!entry || this.#restored) return
    const { subscription, change } = entry
    await this.#receive(
      streamId,
      (createdAt, tracks) => {
        this.#media.receiving.remove(streamId)
        subscription.renew(createdAt, tracks)
        return subscription
      },
      true,
    )
    if (Object.keys(change).length > 0) await this.#change(streamId, change)
  }

  /** Returns whether this call has restored the subscription. */
  async #receiveAgain(subscription: Subscription): Promise<boolean> {
    const media = this.#media
    const { streamId } = subscription
    const subscribe = (): Promise<Subscription> =>
      this.#receive(streamId, (createdAt, tracks) => {
        if (media === this.#media) subscription.renew(createdAt, tracks)
        return subscription
      })
    try {
      await subscribe()
    } catch (error) {
      if (refusalOf(error) === 'NOT_FOUND') return false
      if (refusalOf(error) !== 'CONFLICT') throw error
      // Another call has subscribed, or the media has been replaced meanwhile.
      if (media !== this.#media || media.receiving.get(streamId)) return false
      // A call of before the loss took effect on the new media: its tracks are unknown here, so it is replaced.
      await this.#request('unsubscribe', { streamId }).catch((failure: unknown) => {
        if (refusalOf(failure) !== 'NOT_FOUND') throw failure
      })
      await subscribe()
    }
    return true
  }

  close(): void {
    this.#published.clear()
    this.#subscribed.clear()
    this.#media.close()
    this.#restored?.reject(new Error('the participant has been closed'))
  }

  /** Runs serially, so that the first publication connects the transport. */
  async #publishAll(): Promise<void> {
    for (const [streamId, entry] of this.#published) {
      const { audio, video } = entry.publication
      const options = { ...entry.options, luma: entry.stream.luma }
      const publication = this.#media.publication(options)
      if (publication.audio && audio) publication.audio.active = audio.active
      if (publication.video && video) publication.video.active = video.active
      await this.#offer(publication, options, streamId)
      entry.before = entry.stream.stats()
      entry.publication = publication
      this.#media.start(publication)
    }
  }

  async #offer(
    publication: Publication,
    { fps = 25, typeOfVideo = 'CAMERA' }: PublishOptions,
    streamId?: string,
  ): Promise<SignallingResult<'publish'>> {
    const transport = this.#media.transport('send')
    const first = !this.#sendAnnounced
    this.#sendAnnounced = true
    const answer = this.#request('publish', {
      ...(streamId !== undefined && { streamId }),
      tracks: [...publication.tracks],
      audioActive: publication.audio?.active ?? true,
      videoActive: publication.video?.active ?? true,
      typeOfVideo,
      ...(publication.video && { frameRate: fps, videoDimensions: JSON.stringify(publication.video.dimensions) }),
      ...(first && { dtlsParameters: this.#certificate.parameters }),
    })
    answer.catch(() => (this.#sendAnnounced &&= !first))
    const [published] = await Promise.all([answer, transport.open()])
    await transport.connect()
    return published
  }

  async #receive(
    streamId: string,
    subscribed: (createdAt: number, tracks: SignallingResult<'subscribe'>['tracks']) => Subscription,
    replace = false,
  ): Promise<Subscription> {
    const media = this.#media
    const { receiving, rtpCapabilities } = media
    const connected = (this.#receivingConnected ??= this.#announceReceiving())
    const call = { streamId, rtpCapabilities, ...(replace && { replace }) }
    const answer = this.#request('subscribe', call).then(({ createdAt, tracks }) => {
      const subscription = subscribed(createdAt, tracks)
      // The media may have been lost or closed meanwhile.
      if (!media.isClosed) receiving.add(subscription)
      return subscription
    })
    const [subscription] = await Promise.all([answer, connected])
    const held = subscription.receivers.filter(({ paused }) => paused).map(({ track }) => track.kind)
    subscription.receivers.forEach((receiver) => receiver.paused || receiver.expect(performance.now()))
    if (held.length > 0) await this.#change(streamId, Object.fromEntries(held.map((kind) => [kind, true])))
    return subscription
  }

  async #announceReceiving(): Promise<void> {
    const transport = this.#media.transport('recv')
    const answer = this.#request('connectTransport', {
      direction: 'recv',
      dtlsParameters: this.#certificate.parameters,
    })
    answer.catch(() => (this.#receivingConnected = undefined))
    await Promise.all([answer, transport.open()])
    await transport.connect()
  }

  async #change(streamId: string, change: ChangeSubscription): Promise<void> {
    const receivers = this.#media.receiving.get(streamId)?.receivers ?? []
    const now = performance.now()
    for (const receiver of receivers) if (change[receiver.track.kind] === true) receiver.expect(now)
    await this.#request('changeSubscription', { streamId, ...change })
    for (const receiver of receivers) if (change[receiver.track.kind] === false) receiver.pause()
  }
}
