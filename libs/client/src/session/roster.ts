import { type ConnectionInfo, Role, type StreamInfo } from '@session-service/contract'
import { Connection } from '../streams/connection.js'
import type { SessionEvents } from '../streams/events.js'
import type { FilterControl } from '../streams/filter.js'
import type { RosterSnapshot, RosterChange } from '../signalling/notification.js'
import { streamChanges, reconcile } from './reconcile.js'
import type { JoinResult } from '../signalling/signalling.js'
import { Stream } from '../streams/stream.js'

type RosterEventName =
  | 'connectionCreated'
  | 'connectionDestroyed'
  | 'connectionPropertyChanged'
  | 'cameraStatusChanged'
  | 'networkQualityLevelChanged'
  | 'streamCreated'
  | 'streamDestroyed'
  | 'streamPropertyChanged'

/** An event for the application. */
export type RosterEvent = {
  [N in RosterEventName]: { readonly name: N; readonly event: SessionEvents[N] }
}[RosterEventName]

type ChangeParams<M extends RosterChange['method']> = Extract<RosterChange, { method: M }>['params']

/** The own connection, from the answer to `join`. */
export function ownInfo({ connectionId, createdAt, role, serverData, snapshot }: JoinResult): ConnectionInfo {
  const listed = snapshot.connections.find((connection) => connection.connectionId === connectionId)
  return listed ?? { connectionId, createdAt, role, serverData, clientData: '' }
}

/**
 * The connections of the session and their streams. Repeated changes and changes of unknown connections yield no event:
 * each connection and stream is announced once and ends once.
 */
export class Roster {
  readonly connections = new Map<string, Connection>()
  readonly streams = new Map<string, Stream>()
  readonly own: Connection
  readonly #filterControl: FilterControl | undefined
  /** Whether recordings contain the own streams. */
  #isRecorded: boolean

  constructor(own: ConnectionInfo, filterControl?: FilterControl, isRecorded = true) {
    this.#filterControl = filterControl
    this.#isRecorded = isRecorded
    this.own = new Connection(own, true)
    this.connections.set(own.connectionId, this.own)
  }

  apply(change: RosterChange): RosterEvent[] {
    switch (change.method) {
      case 'connectionCreated':
        return this.#connectionCreated(change.params)
      case 'connectionDestroyed':
        return this.#connectionDestroyed(change.params)
      case 'connectionPropertyChanged':
        return this.#connectionChanged(change.params)
      case 'cameraStatusChanged':
        return this.#cameraChanged(change.params)
      case 'networkQualityLevelChanged':
        return this.#networkQualityChanged(change.params)
      case 'streamCreated':
        return this.#streamCreated(change.params)
      case 'streamDestroyed':
        return this.#streamDestroyed(change.params)
      case 'streamPropertyChanged':
        return this.#streamChanged(change.params)
    }
  }

  /** A stream was published again after the loss of its media; its properties may have changed. */
  streamRestored(info: StreamInfo): RosterEvent[] {
    const known = this.streams.get(info.streamId)
    return known ? streamChanges(known.info(), info).flatMap((change) => this.apply(change)) : []
  }

  /** Applies the server's state and returns the missed events, in order. */
  applySnapshot(snapshot: RosterSnapshot): RosterEvent[] {
    for (const { connectionId, role } of snapshot.connections)
      if (connectionId !== this.own.connectionId) this.connections.get(connectionId)?.setRole(role)
    return reconcile(this.snapshot(), snapshot).flatMap((change) => this.apply(change))
  }

  /** Applies the own rights of the answer to `resume`. */
  applyRights(rights: { role: Role; record: boolean }): RosterEvent[] {
    const { connectionId } = this.own
    return (['role', 'record'] as const).flatMap((changedProperty) =>
      this.#connectionChanged({ connectionId, changedProperty, newValue: rights[changedProperty] }),
    )
  }

  snapshot(): RosterSnapshot {
    return {
      connections: [...this.connections.values()].map((connection) => connection.info()),
      streams: [...this.streams.values()].map((stream) => stream.info()),
    }
  }

  #connectionCreated(info: ConnectionInfo): RosterEvent[] {
    if (this.connections.has(info.connectionId)) return []
    const connection = new Connection(info, false)
    this.connections.set(info.connectionId, connection)
    return [{ name: 'connectionCreated', event: { connection } }]
  }

  #connectionDestroyed({ connectionId, reason }: ChangeParams<'connectionDestroyed'>): RosterEvent[] {
    const connection = this.connections.get(connectionId)
    if (!connection || connection.local) return []
    const streams = [...connection.streams.keys()].flatMap((streamId) =>
      this.#streamDestroyed({ streamId, connectionId, reason }),
    )
    this.connections.delete(connectionId)
    return [...streams, { name: 'connectionDestroyed', event: { connection, reason } }]
  }

  #connectionChanged(params: ChangeParams<'connectionPropertyChanged'>): RosterEvent[] {
    const { connectionId, changedProperty, newValue } = params
    const connection = this.connections.get(connectionId)
    if (!connection) return []
    const oldValue = changedProperty === 'role' ? connection.role : this.#isRecorded
    if (newValue === oldValue) return []
    if (changedProperty === 'role') {
      const { success, data } = Role.safeParse(newValue)
      if (!success) return []
      connection.setRole(data)
    } else this.#isRecorded = newValue === true
    return [{ name: 'connectionPropertyChanged', event: { connection, changedProperty, newValue, oldValue } }]
  }

  #cameraChanged({ connectionId, status, error }: ChangeParams<'cameraStatusChanged'>): RosterEvent[] {
    const connection = this.connections.get(connectionId)
    if (!connection || (connection.cameraStatus === status && connection.cameraError === error)) return []
    connection.setCamera(status, error)
    return [{ name: 'cameraStatusChanged', event: { connection, status, error } }]
  }

  #networkQualityChanged({ connectionId, newValue }: ChangeParams<'networkQualityLevelChanged'>): RosterEvent[] {
    const connection = this.connections.get(connectionId)
    if (!connection || connection.networkQuality === newValue) return []
    const oldValue = connection.networkQuality
    connection.setNetworkQuality(newValue)
    return [{ name: 'networkQualityLevelChanged', event: { connection, newValue, oldValue } }]
  }

  #streamCreated(info: StreamInfo): RosterEvent[] {
    const connection = this.connections.get(info.connectionId)
    if (!connection || this.streams.has(info.streamId)) return []
    const stream = new Stream(info, connection, this.#filterControl)
    this.streams.set(info.streamId, stream)
    connection.addStream(stream)
    return [{ name: 'streamCreated', event: { stream } }]
  }

  #streamDestroyed({ streamId, reason }: ChangeParams<'streamDestroyed'>): RosterEvent[] {
    const stream = this.streams.get(streamId)
    if (!stream) return []
    this.streams.delete(streamId)
    stream.connection.removeStream(streamId)
    return [{ name: 'streamDestroyed', event: { stream, reason } }]
  }

  #streamChanged(params: ChangeParams<'streamPropertyChanged'>): RosterEvent[] {
    const { streamId, changedProperty, newValue, reason } = params
    const stream = this.streams.get(streamId)
    if (!stream || stream.has(changedProperty, newValue)) return []
    const change = stream.change(changedProperty, newValue, reason)
    return [{ name: 'streamPropertyChanged', event: { stream, changedProperty, reason, ...change } }]
  }
}
