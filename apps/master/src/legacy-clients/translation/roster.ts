import type { ConnectionInfo, DisconnectReason, SessionSnapshot, StreamInfo } from '@session-service/contract'
import { metadataOf, type ParticipantView, streamView } from './views.js'

/** A notification of version 2. */
export interface LegacyNotification {
  method: string
  params: object
}

interface Member {
  createdAt: number
  metadata: string
  /** The ids of the connections that show its streams, by the ids of the streams. */
  streams: Map<string, string>
}

/**
 * What a client of version 2 has been notified of: the other participants and their streams. A connection of version 2
 * has one stream; further streams of a participant are shown as those of further connections.
 */
export class Roster {
  readonly #members = new Map<string, Member>()

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
      for (const [streamId, shownAs] of streams) if (shownAs === wireId) return streamId
    return undefined
  }

  /** The participant that the connection of version 2 belongs to. */
  participantOf(wireId: string): string {
    for (const [connectionId, { streams }] of this.#members)
      if ([...streams.values()].includes(wireId)) return connectionId
    return wireId
  }

  joined(connection: ConnectionInfo): LegacyNotification[] {
    if (!this.#add(connection)) return []
    const { connectionId } = connection
    return [{ method: 'participantJoined', params: viewOf(connectionId, this.#memberOf(connectionId)) }]
  }

  /** Nothing for a known stream: a repetition would make the library replace its object and lose the media. */
  published(stream: StreamInfo): LegacyNotification[] {
    if (this.has(stream.streamId)) return []
    const shown = this.#show(stream)
    if (!shown) return []
    const { wireId, member } = shown
    const isFurther = wireId !== stream.connectionId
    return [
      ...(isFurther ? [{ method: 'participantJoined', params: viewOf(wireId, member) }] : []),
      { method: 'participantPublished', params: { id: wireId, streams: [streamView(stream)] } },
    ]
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
    const wireId = streams?.get(streamId)
    if (!streams || wireId === undefined) return []
    streams.delete(streamId)
    return [wireId === connectionId ? unpublishedOf(wireId, reason) : leftOf(wireId, reason)]
  }

  left(connectionId: string, reason: string): LegacyNotification[] {
    const member = this.#members.get(connectionId)
    if (!member) return []
    this.#members.delete(connectionId)
    const further = [...member.streams.values()].filter((wireId) => wireId !== connectionId)
    // The library ends the stream of a connection with the connection.
    return [...further, connectionId].map((wireId) => leftOf(wireId, reason))
  }

  /**
   * The changes from what the client knows to the snapshot, after messages may have been lost.
   *
   * @param awaitsStreams whether missing streams may return
   */
  update({ connections, streams }: SessionSnapshot, awaitsStreams = false): LegacyNotification[] {
    const present = new Set(connections.map(({ connectionId }) => connectionId))
    const published = new Set(streams.map(({ streamId }) => streamId))
    const reason: DisconnectReason = 'networkDisconnect'
    const gone = [...this.#members.keys()].filter((connectionId) => !present.has(connectionId))
    return [
      ...gone.flatMap((connectionId) => this.left(connectionId, reason)),
      ...(awaitsStreams ? [] : this.#ended(published)).flatMap((stream) => this.unpublished(stream, 'unpublish')),
      ...connections.flatMap((connection) => this.joined(connection)),
      ...oldestFirst(streams).flatMap((stream) => this.published(stream)),
    ]
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
  #show({ streamId, connectionId }: StreamInfo): { wireId: string; member: Member } | undefined {
    const member = this.#members.get(connectionId)
    if (!member) return undefined
    const isFree = ![...member.streams.values()].includes(connectionId)
    const wireId = isFree ? connectionId : furtherId(streamId, connectionId)
    member.streams.set(streamId, wireId)
    return { wireId, member }
  }

  #memberOf(connectionId: string): Member {
    const member = this.#members.get(connectionId)
    if (!member) throw new Error(`${connectionId} is not in the roster`)
    return member
  }

  #wireIdOf(streamId: string): string | undefined {
    for (const { streams } of this.#members.values()) {
      const wireId = streams.get(streamId)
      if (wireId !== undefined) return wireId
    }
    return undefined
  }
}

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
