import {
  describeIssues,
  ServiceError,
  SIGNALLING_METHODS,
  type SignallingCall,
  type SignallingMethod,
} from '@session-service/contract'

/** Parses the parameters of a call; INVALID names each invalid field. */
export function readCall<M extends SignallingMethod>(method: M, params: object): SignallingCall<M> {
  const call = SIGNALLING_METHODS[method][0].safeParse(params)
  if (!call.success) throw new ServiceError('INVALID', describeIssues(call.error).join('; '))
  // The compiler does not see that the schema looked up by `method` gives the type looked up by `M`.
  return call.data as SignallingCall<M>
}
