import type { ClusterSummary, LiveEvents, LiveViews } from '@session-service/contract/dashboard'

export interface Failure {
  status: number
  message: string
}

/** The received part of a live view. */
export interface LiveState<V extends keyof LiveViews> {
  /** The last data; undefined before the first. */
  data: LiveViews[V] | undefined
  /** Why newer data is missing; undefined while the view can be read. */
  failure: Failure | undefined
  /** Why a newer summary is missing. */
  summaryFailure: Failure | undefined
}

/** An event of the stream, by its name in `LiveEvents`. */
export type LiveEvent<V extends keyof LiveViews> =
  | { name: 'summary'; value: ClusterSummary }
  | { name: 'view'; value: LiveViews[V] }
  | { name: 'failure'; value: LiveEvents['failure'] }

export const LIVE_EVENTS = ['summary', 'view', 'failure'] as const

/** Reads an event of the stream; undefined for text that is not an object in JSON. */
export function readLiveEvent<V extends keyof LiveViews>(
  name: (typeof LIVE_EVENTS)[number],
  text: string,
): LiveEvent<V> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // The service that sends the stream has the same types.
    return typeof value === 'object' && value !== null ? ({ name, value } as LiveEvent<V>) : undefined
  } catch {
    return undefined
  }
}

/** The state after an event. The data of before a failure remains. */
export function nextLiveState<V extends keyof LiveViews>(state: LiveState<V>, event: LiveEvent<V>): LiveState<V> {
  if (event.name === 'view') return { ...state, data: event.value, failure: undefined }
  if (event.name === 'failure') {
    const { feed, ...failure } = event.value
    return feed === 'summary' ? { ...state, summaryFailure: failure } : { ...state, failure }
  }
  // The same state renders nothing again.
  return state.summaryFailure ? { ...state, summaryFailure: undefined } : state
}

/** Whether the stream ends with this failure: no valid sign-in, no right to read the view, or no such object. */
export const isFinal = ({ status }: Failure): boolean => [401, 403, 404].includes(status)

const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 10_000

/** The delay before the nth attempt to connect again, counted from 1. */
export const retryDelayMs = (attempt: number): number => Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempt - 1))
