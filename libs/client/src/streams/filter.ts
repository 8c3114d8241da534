import type { FilterView, SignallingParams, SignallingResult } from '@session-service/contract'
import { Emitter, type Listener } from '../platform/emitter.js'
import type { RosterChange } from '../signalling/notification.js'

type FilterMethod =
  'applyFilter' | 'execFilterMethod' | 'removeFilter' | 'addFilterEventListener' | 'removeFilterEventListener'

/** The parts of a session that filters use. */
export interface FilterControl {
  /** Sends a request when the media of the stream is available. */
  request<M extends FilterMethod>(method: M, params: SignallingParams<M>): Promise<SignallingResult<M>>
  /** Applies an own change locally, as the server's notification does for the other participants. */
  changed(change: RosterChange): void
}

/** A filter to apply. */
export interface FilterOptions {
  /** Such as `BlurFilter`. */
  type: string
  options?: Record<string, unknown>
}

/** The state of a filter. Images in it are replaced by a description, such as `image/png, 1234 bytes`. */
export interface FilterState {
  readonly type: string
  /** The options with which the filter was applied. */
  readonly options: Readonly<Record<string, unknown>>
  /** Empty before the first call of a method. */
  readonly lastExecMethod: { readonly method?: string; readonly params?: Readonly<Record<string, unknown>> }
}

/** An event of a filter. */
export interface FilterEvent {
  readonly filter: Filter
  readonly eventType: string
  readonly data: unknown
}

interface FilteredStream {
  readonly streamId: string
  readonly connectionId: string
}

/** The state in the public interface; null without a filter. */
export function filterState({ type, options = {}, lastExecMethod }: FilterView): FilterState | null {
  if (type === undefined) return null
  const { method, params } = lastExecMethod ?? {}
  return { type, options, lastExecMethod: { ...(method !== undefined && { method }), ...(params && { params }) } }
}

class FilterEmitter extends Emitter<Record<string, FilterEvent>> {
  dispatch(event: FilterEvent): void {
    this.emit(event.eventType, event)
  }
}

/** The filter of a stream, until it is removed. The session updates it. */
export class Filter implements FilterState {
  readonly #stream: FilteredStream
  readonly #control: FilterControl
  readonly #events = new FilterEmitter()
  /** The listeners by the type of their events. */
  readonly #listeners = new Map<string, Set<Listener<FilterEvent>>>()
  /** Requests about listeners reach the server in the order of the calls. */
  #queue: Promise<unknown> = Promise.resolve()
  #state: FilterState

  /** @internal */
  constructor(stream: FilteredStream, state: FilterState, control: FilterControl) {
    this.#stream = stream
    this.#state = state
    this.#control = control
  }

  get type(): string {
    return this.#state.type
  }
  get options(): FilterState['options'] {
    return this.#state.options
  }
  get lastExecMethod(): FilterState['lastExecMethod'] {
    return this.#state.lastExecMethod
  }

  /** Changes the filter while it works. Rejects with INVALID for an unknown method or wrong parameters. */
  async execMethod(method: string, params: Record<string, unknown> = {}): Promise<void> {
    const { streamId, connectionId } = this.#stream
    const { filter } = await this.#control.request('execFilterMethod', { streamId, method, params })
    const reason = 'execFilterMethod'
    const change = { streamId, connectionId, changedProperty: 'filter', newValue: filter, reason } as const
    this.#control.changed({ method: 'streamPropertyChanged', params: change })
  }

  /** Calls the listener for each event of this type, until the filter is removed. */
  async addEventListener(eventType: string, listener: Listener<FilterEvent>): Promise<void> {
    const listeners = this.#listeners.get(eventType) ?? new Set()
    if (listeners.has(listener)) return
    this.#listeners.set(eventType, listeners.add(listener))
    this.#events.on(eventType, listener)
    try {
      await this.#send('addFilterEventListener', eventType)
    } catch (error) {
      this.#forget(eventType, listener)
      throw error
    }
  }

  /** Removes a listener, or all listeners for the type when `listener` is absent. */
  async removeEventListener(eventType: string, listener?: Listener<FilterEvent>): Promise<void> {
    const isListening = this.#listeners.has(eventType)
    if (listener) this.#forget(eventType, listener)
    else for (const each of this.#listeners.get(eventType) ?? []) this.#forget(eventType, each)
    if (isListening && !this.#listeners.has(eventType)) await this.#send('removeFilterEventListener', eventType)
  }

  /** @internal */
  update(state: FilterState): void {
    this.#state = state
  }

  /** @internal `data` is JSON text. */
  dispatch(eventType: string, data: string): void {
    this.#events.dispatch({ filter: this, eventType, data: parsed(data) })
  }

  #forget(eventType: string, listener: Listener<FilterEvent>): void {
    this.#events.off(eventType, listener)
    const listeners = this.#listeners.get(eventType)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#listeners.delete(eventType)
  }

  async #send(method: 'addFilterEventListener' | 'removeFilterEventListener', eventType: string): Promise<void> {
    const { streamId } = this.#stream
    const sent = this.#queue.then(() => this.#control.request(method, { streamId, eventType }))
    this.#queue = sent.catch(() => {})
    await sent
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
