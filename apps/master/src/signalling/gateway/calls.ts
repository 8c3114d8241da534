import {
  describeIssues,
  type RpcRequest,
  ServiceError,
  SIGNALLING_METHODS,
  type SignallingCall,
  type SignallingMethod,
} from '@session-service/contract'
import type { RawData } from 'ws'

/** Whether the method is one with which a socket becomes that of a participant. */
export const isEntry = (method: SignallingMethod): method is 'join' | 'resume' =>
  method === 'join' || method === 'resume'

/** The parameters of a call by their schema; INVALID names each field at fault. */
export function readCall<M extends SignallingMethod>(method: M, params: object): SignallingCall<M> {
  const call = SIGNALLING_METHODS[method][0].safeParse(params)
  if (!call.success) throw new ServiceError('INVALID', describeIssues(call.error).join('; '))
  // The compiler does not see that the schema looked up by `method` gives the type looked up by `M`.
  return call.data as SignallingCall<M>
}

/** What is about one subscription is done in its order, everything else of a socket in one line. */
export function queueKey({ method, params }: RpcRequest): string {
  const isSubscription = method === 'subscribe' || method === 'unsubscribe' || method === 'changeSubscription'
  return isSubscription && typeof params?.streamId === 'string' ? params.streamId : ''
}

export const bufferOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data
