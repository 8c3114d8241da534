import { ServiceError } from '@session-service/contract'
import { headers, type Msg, type MsgHdrs } from '@nats-io/transport-node'
import {
  type ActiveSpan,
  currentTraceparent,
  inSpan,
  isTracing,
  type SpanOptions,
  startChildSpan,
  withSpan,
} from '@session-service/server-kit'

const TRACEPARENT = 'traceparent'

/** The last part of a subject is the command; the others are ids. */
const operationOf = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1)

const attributesOf = (subject: string): SpanOptions['attributes'] => {
  const [kind, id] = subject.split('.')
  return { 'messaging.system': 'nats', ...(kind === 'node' && id !== undefined && { 'mediaNode.id': id }) }
}

/** The headers of a request within a recorded trace; other requests have none, as in versions without tracing. */
function traceHeaders(): MsgHdrs | undefined {
  const traceparent = currentTraceparent()
  if (traceparent === undefined) return undefined
  const carrier = headers()
  carrier.set(TRACEPARENT, traceparent)
  return carrier
}

async function finished<T>(span: ActiveSpan, send: (carrier?: MsgHdrs) => Promise<T>): Promise<T> {
  try {
    return await withSpan(span, () => send(traceHeaders()))
  } catch (error) {
    span.fail(error instanceof ServiceError ? error.code : 'INTERNAL')
    throw error
  } finally {
    span.end()
  }
}

/** Sends a request in a span of its own when a trace is recorded. */
export function traceRequest<T>(subject: string, send: (carrier?: MsgHdrs) => Promise<T>): Promise<T> {
  if (currentTraceparent() === undefined) return send()
  const span = startChildSpan(`bus ${operationOf(subject)}`, { kind: 'client', attributes: attributesOf(subject) })
  return span ? finished(span, send) : send()
}

/** Handles a request in a span when its sender records a trace. */
export function traceHandling<T>(subject: string, msg: Msg, handle: () => Promise<T>): Promise<T> {
  const parent = msg.headers?.get(TRACEPARENT)
  if (!parent || !isTracing()) return handle()
  return inSpan(`handle ${operationOf(subject)}`, { kind: 'server', attributes: attributesOf(subject), parent }, handle)
}
