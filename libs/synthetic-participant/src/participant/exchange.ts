import type {
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
import type { ChangeStream, ChangeSubscription, PublishedStream } from './participant-types.js'
import { addUp, type Publication, type PublicationStats, type PublishOptions } from '../tracks/publication.js'
import { Subscription } from '../tracks/subscription.js'

export type Ask = <M extends SignallingMethod>(method: M, params: SignallingParams<M>) => Promise<SignallingResult<M>>

interface Published {
  stream: PublishedStream
  options: PublishOptions
  publication: Publication
  /** What it had sent over media that was lost. */
  before: PublicationStats | undefined
}

interface Watched {
  subscription: Subscription
  /** What was switched and chosen since it was subscribed to. */
  change: ChangeSubscription
}

/** What one participant sends and receives: over the media of the moment, and the same again when that is replaced. */
export class MediaExchange {
  readonly #published = new Map<string, Published>()
  readonly #watched = new Map<string, Watched>()
  #media: ParticipantMedia
  #sendAnnounced = false
  #receivingConnected: Promise<void> | undefined
  /** While the media is lost, and until all is back that was published and watched. */
  #gap: PromiseWithResolvers<void> | undefined
  /** Streams that appeared while there was no media to receive them with. */
  #early: Set<string> | undefined

  constructor(
    private readonly joined: SignallingResult<'join'>,
    private readonly certificate: Certificate,
    private readonly ask: Ask,
    private readonly capacityKbps?: number,
  ) {
    this.#media = new ParticipantMedia(joined, certificate, capacityKbps)
  }

  get published(): PublishedStream[] {
    return [...this.#published.values()].map(({ stream }) => stream)
  }

  get subscriptions(): Subscription[] {
    return [...this.#watched.values()].map(({ subscription }) => subscription)
  }

  /** Of both transports of the moment. */
  get figures(): Record<TransportDirection, TransportFigures> {
    return this.#media.figures()
  }

  async publish(options: PublishOptions): Promise<PublishedStream> {
    await this.#gap?.promise
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
        stats: () => addUp(entry.before, entry.publication.stats()),
      },
    }
    this.#published.set(streamId, entry)
    this.#media.start(publication)
    return entry.stream
  }

  async unpublish(streamId: string): Promise<void> {
    this.ended(streamId)
    await this.ask('unpublish', { streamId })
  }

  async changeStream(streamId: string, change: ChangeStream): Promise<void> {
    const { reason = change.audioActive === undefined ? 'publishVideo' : 'publishAudio', ...rest } = change
    await this.ask('changeStream', { streamId, reason, ...rest })
    const publication = this.#published.get(streamId)?.publication
    if (publication?.audio && change.audioActive !== undefined) publication.audio.active = change.audioActive
    if (publication?.video && change.videoActive !== undefined) publication.video.active = change.videoActive
  }

  async subscribe(streamId: string): Promise<Subscription> {
    await this.#gap?.promise
    return this.#receive(streamId, (createdAt, tracks) => {
      const subscription = new Subscription(streamId, createdAt, tracks)
      this.#watched.set(streamId, { subscription, change: {} })
      return subscription
    })
  }

  async unsubscribe(streamId: string): Promise<void> {
    this.#watched.delete(streamId)
    this.#media.receiving.remove(streamId)
    await this.ask('unsubscribe', { streamId })
  }

  async changeSubscription(streamId: string, change: ChangeSubscription): Promise<void> {
    const watched = this.#watched.get(streamId)
    await this.#switch(streamId, change)
    if (watched) Object.assign(watched.change, change)
  }

  async restartIce(direction: TransportDirection, newPort: boolean): Promise<IceParameters> {
    const { iceParameters } = await this.ask('restartIce', { direction })
    await this.#media.restartIce(direction, iceParameters, newPort)
    return iceParameters
  }

  /** Another's stream is over for the moment: it is watched again when it is back. */
  interrupted(streamId: string): void {
    this.#media.receiving.remove(streamId)
  }

  /** The server says that the stream is over, whoever published it. */
  ended(streamId: string): void {
    this.#watched.delete(streamId)
    this.interrupted(streamId)
    const entry = this.#published.get(streamId)
    if (!entry) return
    this.#published.delete(streamId)
    this.#media.stop(entry.publication)
  }

  watching(streamId: string): Subscription | undefined {
    return this.#watched.get(streamId)?.subscription
  }

  /** Media stands still; what is to be published or subscribed to waits until it is back. */
  lost(): void {
    this.#gap ??= Promise.withResolvers()
    this.#gap.promise.catch(() => undefined)
    this.#early ??= new Set()
    this.#media.close()
  }

  /** Takes the media that replaces the lost: publishes again under the known ids, and receives what there is already. */
  async renew(rejoined: SignallingResult<'rejoin'>): Promise<void> {
    this.#media.close()
    this.#media = new ParticipantMedia({ ...this.joined, ...rejoined }, this.certificate, this.capacityKbps)
    this.#sendAnnounced = false
    this.#receivingConnected = undefined
    const there = new Set([...rejoined.snapshot.streams.map(({ streamId }) => streamId), ...(this.#early ?? [])])
    this.#early = undefined
    await Promise.all([this.#publishAll(), ...[...there].map((streamId) => this.appeared(streamId))])
    this.#gap?.resolve()
    this.#gap = undefined
  }

  /** A stream is there; one that was watched before the loss is watched again. */
  async appeared(streamId: string): Promise<void> {
    // A subscription would be one to media that the answer to `rejoin` has not told of yet.
    if (this.#early) return void this.#early.add(streamId)
    const watched = this.#watched.get(streamId)
    if (!watched || this.#media.receiving.get(streamId)) return
    const { subscription, change } = watched
    try {
      await this.#receive(streamId, (createdAt, tracks) => {
        subscription.renew(createdAt, tracks)
        return subscription
      })
      if (Object.keys(change).length > 0) await this.#switch(streamId, change)
    } catch (error) {
      // Gone again meanwhile, or on its way already.
      if (!(error instanceof SignallingError) || !['NOT_FOUND', 'CONFLICT'].includes(error.code)) throw error
    }
  }

  close(): void {
    this.#published.clear()
    this.#watched.clear()
    this.#media.close()
    this.#gap?.reject(new Error('the participant has no media any more'))
  }

  /** One after another, so that the first announces the transport. */
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
    const answer = this.ask('publish', {
      ...(streamId !== undefined && { streamId }),
      tracks: [...publication.tracks],
      audioActive: publication.audio?.active ?? true,
      videoActive: publication.video?.active ?? true,
      typeOfVideo,
      ...(publication.video && { frameRate: fps, videoDimensions: JSON.stringify(publication.video.dimensions) }),
      ...(first && { dtlsParameters: this.certificate.parameters }),
    })
    answer.catch(() => (this.#sendAnnounced &&= !first))
    const [published] = await Promise.all([answer, transport.open()])
    await transport.connect()
    return published
  }

  async #receive(
    streamId: string,
    take: (createdAt: number, tracks: SignallingResult<'subscribe'>['tracks']) => Subscription,
  ): Promise<Subscription> {
    const media = this.#media
    const { receiving, rtpCapabilities } = media
    const connected = (this.#receivingConnected ??= this.#announceReceiving())
    const answer = this.ask('subscribe', { streamId, rtpCapabilities }).then(({ createdAt, tracks }) => {
      const subscription = take(createdAt, tracks)
      // An answer for media that was lost or closed meanwhile is worth nothing.
      if (!media.isClosed) receiving.add(subscription)
      return subscription
    })
    const [subscription] = await Promise.all([answer, connected])
    const held = subscription.receivers.filter(({ paused }) => paused).map(({ track }) => track.kind)
    subscription.receivers.forEach((receiver) => receiver.paused || receiver.expect(performance.now()))
    if (held.length > 0) await this.#switch(streamId, Object.fromEntries(held.map((kind) => [kind, true])))
    return subscription
  }

  async #announceReceiving(): Promise<void> {
    const transport = this.#media.transport('recv')
    const answer = this.ask('connectTransport', { direction: 'recv', dtlsParameters: this.certificate.parameters })
    answer.catch(() => (this.#receivingConnected = undefined))
    await Promise.all([answer, transport.open()])
    await transport.connect()
  }

  async #switch(streamId: string, change: ChangeSubscription): Promise<void> {
    const receivers = this.#media.receiving.get(streamId)?.receivers ?? []
    const now = performance.now()
    for (const receiver of receivers) if (change[receiver.track.kind] === true) receiver.expect(now)
    await this.ask('changeSubscription', { streamId, ...change })
    for (const receiver of receivers) if (change[receiver.track.kind] === false) receiver.pause()
  }
}
