import { z } from 'zod'
import { DisconnectReason } from '../reasons.js'
import { Role } from '../participants/members.js'
import { SIGNALLING_NOTIFICATIONS } from '../signalling/notifications.js'

const notification = z.discriminatedUnion('method', [
  z.object({ method: z.literal('connectionCreated'), params: SIGNALLING_NOTIFICATIONS.connectionCreated }),
  z.object({ method: z.literal('connectionDestroyed'), params: SIGNALLING_NOTIFICATIONS.connectionDestroyed }),
  z.object({
    method: z.literal('connectionPropertyChanged'),
    params: SIGNALLING_NOTIFICATIONS.connectionPropertyChanged,
  }),
  z.object({ method: z.literal('streamCreated'), params: SIGNALLING_NOTIFICATIONS.streamCreated }),
  z.object({ method: z.literal('streamDestroyed'), params: SIGNALLING_NOTIFICATIONS.streamDestroyed }),
  z.object({ method: z.literal('streamPropertyChanged'), params: SIGNALLING_NOTIFICATIONS.streamPropertyChanged }),
  z.object({ method: z.literal('trackReplaced'), params: SIGNALLING_NOTIFICATIONS.trackReplaced }),
  z.object({ method: z.literal('recordingStarted'), params: SIGNALLING_NOTIFICATIONS.recordingStarted }),
  z.object({ method: z.literal('recordingStopped'), params: SIGNALLING_NOTIFICATIONS.recordingStopped }),
  z.object({ method: z.literal('cameraStatusChanged'), params: SIGNALLING_NOTIFICATIONS.cameraStatusChanged }),
  z.object({
    method: z.literal('networkQualityLevelChanged'),
    params: SIGNALLING_NOTIFICATIONS.networkQualityLevelChanged,
  }),
  z.object({ method: z.literal('filterEventDispatched'), params: SIGNALLING_NOTIFICATIONS.filterEventDispatched }),
  z.object({ method: z.literal('signal'), params: SIGNALLING_NOTIFICATIONS.signal }),
])

/** A message between masters on `session.<roomId>`. Masters process the messages of a session in order. */
export const SessionMessage = z.discriminatedUnion('kind', [
  /** Sends a notification to the named sockets, or to all sockets of the session with exceptions. */
  z.object({
    kind: z.literal('notify'),
    to: z.array(z.string()).optional(),
    except: z.array(z.string()).optional(),
    notification,
    /** The id of a signal, which masters keep for resuming participants. */
    signalId: z.number().int().optional(),
  }),
  /** The connection has ended: notify its client and close its socket. */
  z.object({ kind: z.literal('evict'), connectionId: z.string(), reason: DisconnectReason }),
  /** The participant has a new socket at `masterId`: close its other sockets. */
  z.object({ kind: z.literal('taken'), connectionId: z.string(), socketId: z.string() }),
  /** The media of this epoch is lost: clients rejoin, spread over this number of ms. */
  z.object({ kind: z.literal('mediaLost'), epoch: z.number().int(), spreadMs: z.number() }),
  /** Permissions changed: the socket's master updates its cached connection. */
  z.object({ kind: z.literal('rights'), connectionId: z.string(), role: Role, record: z.boolean() }),
])
export type SessionMessage = z.infer<typeof SessionMessage>
export type SessionNotification = z.infer<typeof notification>
