import type {
  ConnectionInfo,
  DisconnectReason,
  NotificationParams,
  SessionSnapshot,
  StreamInfo,
} from '@session-service/contract'
import { OwnState } from './own-state.js'
import { propertyChanges } from './property-changes.js'
import { Unconfirmed } from './unconfirmed.js'
import { metadataOf, type ParticipantView, propertyView, streamView } from './views.js'

/** A notification of version 2. */
export interface LegacyNotification {
  method: string
  params: object
}

interface Member {
  createdAt: number
  metadata: string
  /** By the ids of the streams. */
  streams: Map<string, Shown>
}

interface Shown {
  /** The connection of version 2 that shows the stream. */
  wireId: string
  /** As the client knows it. */
  stream: StreamInfo
}

/** A change of a connection of version 2; `stream`: its stream has begun or ended. */
type Change = 'joined' | 'stream' | 'left'

/**
 * The other participants and their streams, as a client of version 2 was notified of them. A connection of version 2
 * has one stream; further streams of a participant are shown as those of further connections.
 */
export class Roster {
  readonly #members = new Map<string, Member>()
  /** The last change of each connection of version 2 that was notified. */
  readonly #unconfirmed = new Unconfirmed<Change>()
  readonly #unconfirmedProperties = new Unconfirmed<undefined>()
  #doubtfulProperties: ReadonlySet<string> = new Set()
  readonly own = new OwnState()

  constructor(readonly ownId: string) {}

  /** Takes over the state at the time of joining, and returns it for the client. */
  join({ connections, streams }: SessionSnapshot): ParticipantView[] {
    const views = connections
      .filter((connection) => this.#add(connection))
      .map((connection): ParticipantView => viewOf(connection.connectionId, this.#memberOf(connection.connectionId)))
    for (const stream of oldestFirst(streams)) {
      const shown = this.#show(stream)
      const view = views.find(({ id }) => id === shown?.wireId)
      if (view) view.streams = [streamView(stream)]
      else if (shown) views.push({ ...viewOf(shown.wireId, shown.member), streams: [streamView(stream)] })
    }
    return views
  }

  has(streamId: string): boolean {
    return this.#wireIdOf(streamId) !== undefined
  }

  /** Whether the client was notified of the participant. */
  knows(connectionId: string): boolean {
    return this.#members.has(connectionId)
  }

  /** The ids of all streams of others. */
  get streamIds(): string[] {
    return [...this.#members.values()].flatMap(({ streams }) => [...streams.keys()])
  }

  /** The connection that shows the stream. */
  wireIdOf(stream: Pick<StreamInfo, 'streamId' | 'connectionId'>): string {
    return this.#wireIdOf(stream.streamId) ?? stream.connectionId
  }

  /** The stream that the connection of version 2 shows. */
  streamOf(wireId: string): string | undefined {
    for (const { streams } of this.#members.values())
      for (const [streamId, shown] of streams) if (shown.wireId === wireId) return streamId
    return undefined
  }

  /** The participant that the connection of version 2 belongs to. */
  participantOf(wireId: string): string {
    for (const [connectionId, { streams }] of this.#members)
      if ([...streams.values()].some((shown) => shown.wireId === wireId)) return connectionId
    return wireId
  }

  joined(connection: ConnectionInfo): LegacyNotification[] {
    if (!this.#add(connection)) return []
    const { connectionId } = connection
    this.#unconfirmed.add(connectionId, 'joined')
    return [joinedOf(connectionId, this.#memberOf(connectionId))]
  }

  /** Nothing for a known stream: a repetition would make the library replace its object and lose the media. */
  published(stream: StreamInfo): LegacyNotification[] {
    if (this.has(stream.streamId)) return []
    const shown = this.#show(stream)
    if (!shown) return []
    const { wireId, member } = shown
    const isFurther = wireId !== stream.connectionId
    this.#unconfirmed.add(wireId, 'stream')
    return [...(isFurther ? [joinedOf(wireId, member)] : []), publishedOf(wireId, stream)]
  }

  /** Notes a stream that the client knows from another master. Returns false when its participant is unknown. */
  assume(stream: StreamInfo): boolean {
    return this.#show(stream) !== undefined
  }

  unpublished(
    { streamId, connectionId }: Pick<StreamInfo, 'streamId' | 'connectionId'>,
    reason: string,
  ): LegacyNotification[] {
    if (connectionId === this.ownId) return [unpublishedOf(connectionId, reason)]
    const streams = this.#members.get(connectionId)?.streams
    const wireId = streams?.get(streamId)?.wireId
    if (!streams || wireId === undefined) return []
    streams.delete(streamId)
    this.#unconfirmed.add(wireId, wireId === connectionId ? 'stream' : 'left')
    return [wireId === connectionId ? unpublishedOf(wireId, reason) : leftOf(wireId, reason)]
  }

  changed(change: NotificationParams<'streamPropertyChanged'>): LegacyNotification[] {
    const shown = this.#shownOf(change.streamId)
    if (shown) {
      const mediaOptions = { ...shown.stream.mediaOptions, [change.changedProperty]: change.newValue }
      shown.stream = { ...shown.stream, mediaOptions }
    }
    const view = propertyView(change)
    if (!view) return []
    this.#unconfirmedProperties.add(propertyKey(change.streamId, change.changedProperty), undefined)
    return [{ method: 'streamPropertyChanged', params: { connectionId: this.wireIdOf(change), ...view } }]
  }

  left(connectionId: string, reason: string): LegacyNotification[] {
    const member = this.#members.get(connectionId)
    if (!member) return []
    this.#members.delete(connectionId)
    const further = [...member.streams.values()].map(({ wireId }) => wireId).filter((wireId) => wireId !== connectionId)
    const all = [...further, connectionId]
    for (const wireId of all) this.#unconfirmed.add(wireId, 'left')
    // The library ends the stream of a connection with the connection.
    return all.map((wireId) => leftOf(wireId, reason))
  }

  /**
   * The changes from what the client knows to the snapshot, after messages may have been lost.
   *
   * @param awaitsStreams whether missing streams may return
   */
  update({ connections, streams }: SessionSnapshot, awaitsStreams = false): LegacyNotification[] {
    const present = new Set(connections.map(({ connectionId }) => connectionId))
    const published = new Set(streams.map(({ streamId }) => streamId))
    const gone = [...this.#members.keys()].filter((connectionId) => !present.has(connectionId))
    return [
      ...gone.flatMap((connectionId) => this.left(connectionId, REASON)),
      ...(awaitsStreams ? [] : this.#ended(published)).flatMap((stream) => this.unpublished(stream, 'unpublish')),
      ...connections.flatMap((connection) => this.joined(connection)),
      ...streams.flatMap((stream) => this.#propertiesOf(stream)),
      ...oldestFirst(streams).flatMap((stream) => this.published(stream)),
    ]
  }

  /**
   * The changes to the snapshot for a client that may not have received the last ones. A connection of version 2 whose
   * stream has changed is ended and shown again: the library expects neither the end of an unknown stream nor a second
   * publication of a known one.
   *
   * @param isReceived whether the client receives the stream, and so knows it
   */
  repair(
    snapshot: SessionSnapshot,
    awaitsStreams: boolean,
    isReceived: (streamId: string) => boolean,
  ): LegacyNotification[] {
    const isDoubtful = ([wireId]: [string, Change]): boolean => {
      const streamId = this.streamOf(wireId)
      return streamId === undefined || !isReceived(streamId)
    }
    const doubtful = new Map(this.#unconfirmed.take().filter(isDoubtful))
    for (const wireId of doubtful.keys()) this.#forgetStreamOf(wireId)
    this.#doubtfulProperties = new Set(this.#unconfirmedProperties.take().map(([key]) => key))
    const changes = this.update(snapshot, awaitsStreams).filter((each) => !doubtful.has(wireIdIn(each)))
    this.#doubtfulProperties = new Set()
    return [...[...doubtful].flatMap(([wireId, change]) => this.#showAgain(wireId, change)), ...changes]
  }

  #forgetStreamOf(wireId: string): void {
    const streamId = this.streamOf(wireId)
    if (streamId !== undefined) this.#members.get(this.participantOf(wireId))?.streams.delete(streamId)
  }

  /** A repeated `participantJoined` or `participantLeft` has no effect. */
  #showAgain(wireId: string, change: Change): LegacyNotification[] {
    const member = this.#members.get(this.participantOf(wireId))
    const stream = this.#shownOf(this.streamOf(wireId) ?? '')?.stream
    if (!member || (!stream && !this.#members.has(wireId))) {
      this.#unconfirmed.add(wireId, 'left')
      return [leftOf(wireId, REASON)]
    }
    this.#unconfirmed.add(wireId, stream ? 'stream' : change)
    return [
      ...(change === 'joined' ? [] : [leftOf(wireId, REASON)]),
      joinedOf(wireId, member),
      ...(stream ? [publishedOf(wireId, stream)] : []),
    ]
  }

  /** The client has sent a ping. */
  pinged(): void {
    this.#unconfirmed.pinged()
    this.#unconfirmedProperties.pinged()
    this.own.pinged()
  }

  /** Nothing for an unknown stream. */
  #propertiesOf(now: StreamInfo): LegacyNotification[] {
    const shown = this.#shownOf(now.streamId)
    if (!shown) return []
    const isDoubtful = (property: string): boolean => this.#doubtfulProperties.has(propertyKey(now.streamId, property))
    return propertyChanges(shown.stream, now, isDoubtful).flatMap((change) => this.changed(change))
  }

  #ended(published: ReadonlySet<string>): { streamId: string; connectionId: string }[] {
    return [...this.#members].flatMap(([connectionId, { streams }]) =>
      [...streams.keys()].filter((id) => !published.has(id)).map((streamId) => ({ streamId, connectionId })),
    )
  }

  /** Returns false for the own connection and for a known one. */
  #add({ connectionId, createdAt, ...data }: ConnectionInfo): boolean {
    if (connectionId === this.ownId || this.#members.has(connectionId)) return false
    this.#members.set(connectionId, { createdAt, metadata: metadataOf(data), streams: new Map() })
    return true
  }

  /** Assigns the stream to a connection of version 2; undefined when its participant is unknown or the client itself. */
  #show(stream: StreamInfo): { wireId: string; member: Member } | undefined {
    const { streamId, connectionId } = stream
    const member = this.#members.get(connectionId)
    if (!member) return undefined
    const isFree = ![...member.streams.values()].some(({ wireId }) => wireId === connectionId)
    const wireId = isFree ? connectionId : furtherId(streamId, connectionId)
    member.streams.set(streamId, { wireId, stream })
    return { wireId, member }
  }

  #memberOf(connectionId: string): Member {
    const member = this.#members.get(connectionId)
    if (!member) throw new Error(`${connectionId} is not in the roster`)
    return member
  }

  #wireIdOf(streamId: string): string | undefined {
    return this.#shownOf(streamId)?.wireId
  }

  #shownOf(streamId: string): Shown | undefined {
    for (const { streams } of this.#members.values()) {
      const shown = streams.get(streamId)
      if (shown) return shown
    }
    return undefined
  }
}

/** Snapshots contain no reasons. */
const REASON: DisconnectReason = 'networkDisconnect'

const propertyKey = (streamId: string, property: string): string => `${streamId} ${property}`

/** The connection of version 2 that a notification of the roster is about. */
const wireIdIn = ({ params }: LegacyNotification): string =>
  String('id' in params ? params.id : 'connectionId' in params ? params.connectionId : '')

const joinedOf = (id: string, member: Member): LegacyNotification => ({
  method: 'participantJoined',
  params: viewOf(id, member),
})
const publishedOf = (id: string, stream: StreamInfo): LegacyNotification => ({
  method: 'participantPublished',
  params: { id, streams: [streamView(stream)] },
})
const viewOf = (id: string, { createdAt, metadata }: Member): ParticipantView => ({ id, createdAt, metadata })
const leftOf = (connectionId: string, reason: string): LegacyNotification => ({
  method: 'participantLeft',
  params: { connectionId, reason },
})
const unpublishedOf = (connectionId: string, reason: string): LegacyNotification => ({
  method: 'participantUnpublished',
  params: { connectionId, reason },
})

const oldestFirst = (streams: readonly StreamInfo[]): StreamInfo[] =>
  streams.toSorted((one, other) => one.createdAt - other.createdAt)

/** The random part of the stream's id distinguishes the connections that show further streams. */
const furtherId = (streamId: string, connectionId: string): string =>
  `${connectionId}-${streamId.split('_')[2] ?? streamId}`
