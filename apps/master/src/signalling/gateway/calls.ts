import {
  describeIssues,
  type RpcRequest,
  ServiceError,
  SIGNALLING_METHODS,
  type SignallingCall,
  type SignallingMethod,
} from '@session-service/contract'
import { KeyedMutex } from '@session-service/server-kit'
import type { RawData } from 'ws'

/** Whether the method assigns a participant to the socket. */
export const isEntry = (method: SignallingMethod): method is 'join' | 'resume' =>
  method === 'join' || method === 'resume'

/** Parses the parameters of a call; INVALID names each invalid field. */
export function readCall<M extends SignallingMethod>(method: M, params: object): SignallingCall<M> {
  const call = SIGNALLING_METHODS[method][0].safeParse(params)
  if (!call.success) throw new ServiceError('INVALID', describeIssues(call.error).join('; '))
  // The compiler does not see that the schema looked up by `method` gives the type looked up by `M`.
  return call.data as SignallingCall<M>
}

/** The mutex key of a request: calls for one subscription run in order, and so do all other calls of a socket. */
function queueKey({ method, params }: RpcRequest): string {
  const isSubscription = method === 'subscribe' || method === 'unsubscribe' || method === 'changeSubscription'
  return isSubscription && typeof params?.streamId === 'string' ? params.streamId : ''
}

/** Orders the calls of one socket. */
export class CallQueues {
  readonly #calls = new KeyedMutex()
  /**
   * Calls that may take 10 s, while a language model is loaded, by the connection whose speech they concern. Neither other
   * calls nor the end of the socket wait for them.
   */
  readonly #speechCalls = new KeyedMutex()

  run(request: RpcRequest, task: () => Promise<void>): Promise<void> {
    const { method, params } = request
    if (method !== 'subscribeToSpeechToText' && method !== 'unsubscribeFromSpeechToText')
      return this.#calls.run(queueKey(request), task)
    const connectionId = params?.connectionId
    return this.#speechCalls.run(typeof connectionId === 'string' ? connectionId : '', task)
  }

  /** Resolves when the calls that the end of the socket waits for have settled. */
  idle(): Promise<void> {
    return this.#calls.idle()
  }
}

export const bufferOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data
