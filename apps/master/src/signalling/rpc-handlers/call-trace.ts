import { currentTraceparent, inSpan, isTracing, type SpanOptions } from '@session-service/server-kit'
import type { Participant } from '../../connections/connection.records.js'
import type { ClientSocket } from '../sockets/client-socket.js'

/** Calls in this time after the opening of a socket, ms, continue its trace: a trace must not grow for hours. */
export const JOINING_MS = 60_000

/** The first calls of a participant are part of the trace of its connection, later ones link to it. */
export function traceOf(
  traceContext: string | null,
  { method, socketAgeMs }: { method: string; socketAgeMs: number },
): Pick<SpanOptions, 'parent' | 'link'> {
  if (traceContext === null) return {}
  const isJoining = method !== 'resume' && socketAgeMs <= JOINING_MS
  return isJoining ? { parent: traceContext } : { link: traceContext }
}

/** Runs the handler of a call in a span. That of `join` has its span when the token is known. */
export function traceCall(socket: ClientSocket, method: string, handle: () => Promise<void>): Promise<void> {
  if (!isTracing() || method === 'join') return handle()
  const { participant } = socket
  const socketAgeMs = performance.now() - socket.openedAt
  return inSpan(
    `signalling ${method}`,
    {
      kind: 'server',
      ...(participant && { attributes: idsOf(participant) }),
      ...traceOf(participant?.traceContext ?? null, { method, socketAgeMs }),
    },
    handle,
  )
}

/**
 * Runs a join in a span of the trace in which its connection was created. The calls of the participant continue from
 * there.
 */
export function traceJoin<T>(
  participant: Participant,
  startedAt: number,
  handle: (participant: Participant) => Promise<T>,
): Promise<T> {
  if (!isTracing()) return handle(participant)
  const { traceContext } = participant
  return inSpan(
    'signalling join',
    { kind: 'server', attributes: idsOf(participant), parent: traceContext ?? undefined, startedAt },
    () => handle({ ...participant, traceContext: currentTraceparent() ?? null }),
  )
}

const idsOf = ({ sessionId, connectionId }: Participant): Record<string, string> => ({
  'session.id': sessionId,
  'connection.id': connectionId,
})
