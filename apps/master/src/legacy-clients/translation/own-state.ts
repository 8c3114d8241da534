import type { NotificationParams, RecordingInfo, Role } from '@session-service/contract'
import type { LegacyNotification } from './roster.js'
import { Unconfirmed } from './unconfirmed.js'

interface Rights {
  role: Role
  record: boolean
}

/** The state that a client of version 2 was notified of: its rights, and the running recordings of its session. */
export class OwnState {
  readonly #rights = new Map<string, string | boolean>()
  readonly #recordings = new Map<string, RecordingInfo>()
  readonly #unconfirmed = new Unconfirmed<RecordingInfo | undefined>()
  /** The client may know them as running, and may not. */
  readonly #doubtful = new Map<string, RecordingInfo>()

  /** Takes over the state that the client knows. */
  enter({ role, record }: Rights, recordings: readonly RecordingInfo[] = []): void {
    this.#rights.set('role', role).set('record', record)
    for (const recording of recordings) this.#recordings.set(recording.id, recording)
  }

  rightChanged({
    changedProperty: property,
    newValue,
  }: Pick<NotificationParams<'connectionPropertyChanged'>, 'changedProperty' | 'newValue'>): LegacyNotification[] {
    if (this.#rights.get(property) === newValue) return []
    this.#rights.set(property, newValue)
    this.#unconfirmed.add(property, undefined)
    return [{ method: 'connectionPropertyChanged', params: { property, newValue: String(newValue) } }]
  }

  recordingStarted(recording: RecordingInfo): LegacyNotification[] {
    if (this.#recordings.has(recording.id)) return []
    this.#recordings.set(recording.id, recording)
    this.#unconfirmed.add(recording.id, recording)
    return [{ method: 'recordingStarted', params: recording }]
  }

  /** No notification of a recording that the client does not know as running. */
  recordingStopped(recording: RecordingInfo & { reason: string }): LegacyNotification[] {
    return this.#recordings.has(recording.id) || this.#doubtful.has(recording.id) ? this.#stopped(recording) : []
  }

  #stopped(recording: RecordingInfo & { reason: string }): LegacyNotification[] {
    this.#recordings.delete(recording.id)
    this.#unconfirmed.add(recording.id, recording)
    return [{ method: 'recordingStopped', params: recording }]
  }

  /** The changes to the recordings of a snapshot, which has none where the client is not notified of them. */
  update(recordings: readonly RecordingInfo[] | undefined): LegacyNotification[] {
    if (!recordings) return []
    const running = new Set(recordings.map(({ id }) => id))
    const known = new Map([...this.#doubtful, ...this.#recordings])
    this.#doubtful.clear()
    const stopped = [...known.values()].filter(({ id }) => !running.has(id))
    return [
      ...stopped.flatMap(({ id, name }) => this.#stopped({ id, name, reason: 'recordingStoppedByServer' })),
      ...recordings.flatMap((recording) => this.recordingStarted(recording)),
    ]
  }

  /** Notifications that may not have arrived are repeated with the next state. */
  doubt(): void {
    for (const [key, recording] of this.#unconfirmed.take()) {
      this.#rights.delete(key)
      this.#recordings.delete(key)
      if (recording) this.#doubtful.set(key, recording)
    }
  }

  pinged(): void {
    this.#unconfirmed.pinged()
  }
}
