import type { NotificationParams } from '@session-service/contract'
import type { Connection } from '../streams/connection.js'
import type { Emit } from '../streams/context.js'
import type { SignalEvent } from '../streams/events.js'

/** Emits a received signal for all listeners, and for those of its type. */
export function emitSignal(
  { type, data, from }: NotificationParams<'signal'>,
  connections: ReadonlyMap<string, Connection>,
  emit: Emit,
): void {
  const sender = from === undefined ? undefined : connections.get(from)
  const event: SignalEvent = { type, data, ...(sender && { from: sender }) }
  emit('signal', event)
  if (type.startsWith('signal:')) emit(type as `signal:${string}`, event)
}
