import type { RecordingInfo } from '@session-service/contract'
import type { RecordingStoppedEvent, SessionEvents } from '../streams/events.js'

type Emit = <K extends 'recordingStarted' | 'recordingStopped'>(name: K, event: SessionEvents[K]) => void

/** What of the session is being recorded, as far as this participant is told. */
export class Recordings {
  readonly #running = new Map<string, RecordingInfo>()
  readonly #emit: Emit

  constructor(emit: Emit) {
    this.#emit = emit
  }

  get running(): ReadonlyMap<string, RecordingInfo> {
    return this.#running
  }

  /** Once for each, whether it was told or seen. */
  started(info: RecordingInfo): void {
    if (this.#running.has(info.id)) return
    this.#running.set(info.id, info)
    this.#emit('recordingStarted', info)
  }

  stopped(event: RecordingStoppedEvent): void {
    if (this.#running.delete(event.id)) this.#emit('recordingStopped', event)
  }

  /** Why a recording stopped was not heard, so the everyday reason is given. Who is not told of recordings sees none. */
  applySnapshot(shown: readonly RecordingInfo[] | undefined): void {
    if (!shown) return
    const ids = new Set(shown.map(({ id }) => id))
    for (const { id, name } of [...this.#running.values()])
      if (!ids.has(id)) this.stopped({ id, name, reason: 'recordingStoppedByServer' })
    for (const info of shown) this.started(info)
  }
}
