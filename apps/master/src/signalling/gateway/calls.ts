import type { RpcRequest, SignallingMethod } from '@session-service/contract'
import { KeyedMutex } from '@session-service/server-kit'
import type { RawData } from 'ws'

/** Whether the method assigns a participant to the socket. */
export const isEntry = (method: SignallingMethod): method is 'join' | 'resume' =>
  method === 'join' || method === 'resume'

/** The mutex key of a request: calls for one subscription run in order, and so do all other calls of a socket. */
function queueKey({ method, params }: RpcRequest): string {
  const isSubscription = method === 'subscribe' || method === 'unsubscribe' || method === 'changeSubscription'
  return isSubscription && typeof params?.streamId === 'string' ? params.streamId : ''
}

/** The methods that may take 10 s, each with the parameter by which their calls run in order. */
const SLOW_CALLS: ReadonlyMap<string, string> = new Map<SignallingMethod, string>([
  ['subscribeToSpeechToText', 'connectionId'],
  ['unsubscribeFromSpeechToText', 'connectionId'],
  ['applyFilter', 'streamId'],
  ['execFilterMethod', 'streamId'],
  ['removeFilter', 'streamId'],
])

/** Orders the calls of one socket. */
export class CallQueues {
  readonly #calls = new KeyedMutex()
  /**
   * Calls that may take 10 s, while a language model is loaded or a filter starts, by the connection or the stream that
   * they concern. Neither other calls nor the end of the socket wait for them.
   */
  readonly #slowCalls = new KeyedMutex()

  run(request: RpcRequest, task: () => Promise<void>): Promise<void> {
    const { method, params } = request
    const field = SLOW_CALLS.get(method)
    if (field === undefined) return this.#calls.run(queueKey(request), task)
    const id = params?.[field]
    return this.#slowCalls.run(typeof id === 'string' ? id : '', task)
  }

  /** Runs the task after those with the same key. */
  runIn(key: string, task: () => Promise<void>): Promise<void> {
    return this.#calls.run(key, task)
  }

  /** Runs a task that may take 10 s after those with the same key. Nothing else waits for it. */
  runSlowly(key: string, task: () => Promise<void>): Promise<void> {
    return this.#slowCalls.run(key, task)
  }

  /** Resolves when the calls that the end of the socket waits for have settled. */
  idle(): Promise<void> {
    return this.#calls.idle()
  }
}

export const bufferOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data
