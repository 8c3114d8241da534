import {
  describeIssues,
  type RpcRequest,
  ServiceError,
  SIGNALLING_METHODS,
  type SignallingCall,
  type SignallingMethod,
} from '@session-service/contract'
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
export function queueKey({ method, params }: RpcRequest): string {
  const isSubscription = method === 'subscribe' || method === 'unsubscribe' || method === 'changeSubscription'
  return isSubscription && typeof params?.streamId === 'string' ? params.streamId : ''
}

export const bufferOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data
