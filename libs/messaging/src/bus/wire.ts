import { headers, type Msg, type MsgHdrs } from '@nats-io/transport-node'
import { describeIssues, isErrorCode, ServiceError, type ErrorSubject } from '@session-service/contract'
import { z } from 'zod'
import { NotSentError } from './not-sent-error.js'

/** A request on the bus: the schemas of its parameters and result, and its deadline, ms. */
export type Rpc<I extends z.ZodType, O extends z.ZodType> = readonly [params: I, result: O, timeoutMs: number]

const ERROR_CODE_HEADER = 'Service-Error'
const ERROR_SUBJECTS = [
  'session',
  'connection',
  'stream',
  'mediaNode',
  'languageModel',
] as const satisfies readonly ErrorSubject[]
const ErrorBody = z.object({ message: z.string(), subject: z.enum(ERROR_SUBJECTS).optional().catch(undefined) })

/** @throws ServiceError INVALID that names each invalid field */
function check<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  throw new ServiceError('INVALID', describeIssues(checked.error).join('; '), { cause: checked.error })
}

export const encode = (schema: z.ZodType, value: unknown): string => JSON.stringify(check(schema, value)) ?? 'null'

/** @throws ServiceError INVALID */
export function decode<S extends z.ZodType>(schema: S, msg: Msg): z.output<S> {
  if (msg.data.length === 0) throw new ServiceError('INVALID', 'the message is empty')
  let value: unknown
  try {
    value = msg.json()
  } catch (cause) {
    throw new ServiceError('INVALID', 'the message is not JSON', { cause })
  }
  return check(schema, value)
}

export function encodeError({ code, message, subject }: ServiceError): { payload: string; headers: MsgHdrs } {
  const withCode = headers()
  withCode.set(ERROR_CODE_HEADER, code)
  return { payload: JSON.stringify({ message, subject }), headers: withCode }
}

/** Answer of the NATS server for a subject without subscribers. */
const isNoResponder = ({ data, headers: received }: Msg): boolean => data.length === 0 && received?.code === 503

/** @throws ServiceError with the code of the responder, NotSentError without a subscriber, INTERNAL for an invalid answer */
export function decodeReply<O extends z.ZodType>(schema: O, msg: Msg, subject: string): z.output<O> {
  if (isNoResponder(msg)) throw new NotSentError(`no subscriber on ${subject}`)
  const code = msg.headers?.get(ERROR_CODE_HEADER)
  if (code) throw remoteError(code, msg)
  try {
    return decode(schema, msg)
  } catch (cause) {
    const reason = cause instanceof ServiceError ? cause.message : 'it cannot be parsed'
    throw new ServiceError('INTERNAL', `the answer of ${subject} is invalid: ${reason}`, { cause })
  }
}

function remoteError(code: string, msg: Msg): ServiceError {
  const known = isErrorCode(code) ? code : 'INTERNAL'
  try {
    const { message, subject } = ErrorBody.parse(msg.json())
    return new ServiceError(known, message, subject ? { subject } : {})
  } catch (cause) {
    return new ServiceError(known, 'the responder failed without a readable reason', { cause })
  }
}
