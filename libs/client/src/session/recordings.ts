import type { RecordingInfo } from '@session-service/contract'
import type { RecordingStoppedEvent, SessionEvents } from '../streams/events.js'

type Emit = <K extends 'recordingStarted' | 'recordingStopped'>(name: K, event: SessionEvents[K]) => void

/** The running recordings of the session that the service reports to this participant. */
export class Recordings {
  readonly #running = new Map<string, RecordingInfo>()
  readonly #emit: Emit

  /** Emits until the session ends, which a listener may cause. */
  constructor(session: { readonly state: 'connected' | 'reconnecting' | 'disconnected' }, emit: Emit) {
    this.#emit = (name, event) => session.state !== 'disconnected' && emit(name, event)
  }

  get running(): ReadonlyMap<string, RecordingInfo> {
    return this.#running
  }

  /** Emits one event for each recording, whether a notification or a snapshot reports it. */
  started(info: RecordingInfo): void {
    if (this.#running.has(info.id)) return
    this.#running.set(info.id, info)
    this.#emit('recordingStarted', info)
  }

  stopped(event: RecordingStoppedEvent): void {
    if (this.#running.delete(event.id)) this.#emit('recordingStopped', event)
  }

  /** A snapshot contains no stop reasons, so the most frequent one is used. Without permission a snapshot has no list. */
  applySnapshot(reported: readonly RecordingInfo[] | undefined): void {
    if (!reported) return
    const ids = new Set(reported.map(({ id }) => id))
    for (const { id, name } of [...this.#running.values()])
      if (!ids.has(id)) this.stopped({ id, name, reason: 'recordingStoppedByServer' })
    for (const info of reported) this.started(info)
  }
}
