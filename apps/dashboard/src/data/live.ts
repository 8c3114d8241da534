import { signal } from '@preact/signals'
import {
  DASHBOARD_PATH,
  type ClusterSummary,
  type LiveViewName,
  type LiveViews,
} from '@session-service/contract/dashboard'
import { useEffect, useState } from 'preact/hooks'
import {
  isFinal,
  LIVE_EVENTS,
  nextLiveState,
  readLiveEvent,
  retryDelayMs,
  type LiveEvent,
  type LiveState,
} from '../platform/live-state.js'
import { expire, loadAccount } from './account.js'
import { setServiceClock } from './clock.js'
import { failureOf } from './http.js'

/** The summary of the last live view, for the header. */
export const summary = signal<ClusterSummary | undefined>(undefined)
/** The state of the stream; `idle` while no screen has one. */
export const connection = signal<'idle' | 'connecting' | 'open' | 'lost'>('idle')

/** Masters send an event each 5 s at least. */
const LONGEST_SILENCE_MS = 12_000

type LiveParameters = Readonly<Record<string, string | number>>

function addressOf(view: LiveViewName, parameters: LiveParameters): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== '')
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `${DASHBOARD_PATH}/live/${view}${query && `?${query}`}`
}

/** One stream. It reconnects until it is closed, and has no connection while the tab is hidden. */
class LiveStream<V extends LiveViewName> {
  readonly #url: string
  readonly #onEvent: (event: LiveEvent<V>) => void
  #source: EventSource | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined
  #attempts = 0
  #isEnded = false

  constructor(url: string, onEvent: (event: LiveEvent<V>) => void) {
    this.#url = url
    this.#onEvent = onEvent
    document.addEventListener('visibilitychange', this.#onVisibility)
    if (document.visibilityState === 'visible') this.#connect()
  }

  close(): void {
    this.#isEnded = true
    document.removeEventListener('visibilitychange', this.#onVisibility)
    this.#disconnect()
    connection.value = 'idle'
  }

  /** Browsers open few connections to a host: hidden tabs would use them up. */
  readonly #onVisibility = (): void => {
    if (document.visibilityState === 'hidden') this.#disconnect()
    else if (!this.#source) this.#connect()
  }

  #disconnect(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#silence)
    this.#source?.close()
    this.#source = undefined
  }

  #connect(): void {
    this.#disconnect()
    if (connection.value !== 'lost') connection.value = 'connecting'
    const source = new EventSource(this.#url)
    this.#source = source
    this.#awaitSign()
    source.addEventListener('open', () => {
      this.#awaitSign()
      this.#attempts = 0
      // The configuration or the cookie may have changed meanwhile.
      if (connection.value === 'lost') void loadAccount().catch(() => undefined)
      connection.value = 'open'
    })
    source.addEventListener('error', () => this.#onError(source))
    source.addEventListener('alive', () => this.#awaitSign())
    for (const name of LIVE_EVENTS) {
      source.addEventListener(name, ({ data }: MessageEvent<string>) => {
        this.#awaitSign()
        const event = readLiveEvent<V>(name, data)
        if (event) this.#receive(event)
      })
    }
  }

  /** A master that is frozen, or whose machine is gone, neither answers nor closes the connection. */
  #awaitSign(): void {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#connectLater(), LONGEST_SILENCE_MS)
  }

  #connectLater(): void {
    this.#disconnect()
    connection.value = 'lost'
    this.#attempts += 1
    this.#timer = setTimeout(() => this.#connect(), retryDelayMs(this.#attempts))
  }

  #receive(event: LiveEvent<V>): void {
    if (event.name === 'summary') {
      summary.value = event.value
      setServiceClock(event.value.now)
    }
    this.#onEvent(event)
    if (event.name === 'failure' && event.value.status === 401) expire()
    if (event.name === 'failure' && isFinal(event.value)) this.close()
  }

  /** The browser reconnects after a broken connection, and gives up after an answer that is no stream, such as 401. */
  #onError(source: EventSource): void {
    if (source !== this.#source) return
    connection.value = 'lost'
    if (source.readyState !== EventSource.CLOSED) return
    this.#connectLater()
    void this.#explain()
  }

  /** An EventSource hides the answer that it did not accept. */
  async #explain(): Promise<void> {
    const failure = await failureOf(this.#url)
    if (failure && !this.#isEnded) this.#receive({ name: 'failure', value: { feed: 'view', ...failure } })
  }
}

const NOTHING = { data: undefined, failure: undefined, summaryFailure: undefined }

/** The live view of a screen. The data of the last parameters stays until that of the new ones arrives. */
export function useLive<V extends LiveViewName & keyof LiveViews>(
  view: V,
  parameters: LiveParameters = {},
): LiveState<V> {
  const [state, setState] = useState<LiveState<V>>(NOTHING)
  const url = addressOf(view, parameters)
  useEffect(() => {
    const stream = new LiveStream<V>(url, (event) => setState((before) => nextLiveState(before, event)))
    return () => stream.close()
  }, [url])
  return state
}
