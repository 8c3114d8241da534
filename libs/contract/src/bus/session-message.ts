import { z } from 'zod'
import { DisconnectReason } from '../reasons.js'
import { Role } from '../rest/connection.js'
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
  z.object({ method: z.literal('recordingStarted'), params: SIGNALLING_NOTIFICATIONS.recordingStarted }),
  z.object({ method: z.literal('recordingStopped'), params: SIGNALLING_NOTIFICATIONS.recordingStopped }),
  z.object({ method: z.literal('signal'), params: SIGNALLING_NOTIFICATIONS.signal }),
])

/** What masters tell each other on `session.<roomId>`, in the order in which it is to be carried out. */
export const SessionMessage = z.discriminatedUnion('kind', [
  /** Pass on to the sockets named, or to all of the session but those left out. */
  z.object({
    kind: z.literal('notify'),
    to: z.array(z.string()).optional(),
    except: z.array(z.string()).optional(),
    notification,
    /** Of a signal, as it is kept for participants that resume. */
    signalId: z.number().int().optional(),
  }),
  /** The connection is over: tell it and close its socket. */
  z.object({ kind: z.literal('evict'), connectionId: z.string(), reason: DisconnectReason }),
  /** The participant has a new socket at `masterId`: any other socket of it is closed. */
  z.object({ kind: z.literal('taken'), connectionId: z.string(), socketId: z.string() }),
  /** The media of this epoch is gone: clients come back, spread over so many ms. */
  z.object({ kind: z.literal('mediaLost'), epoch: z.number().int(), spreadMs: z.number() }),
  /** Rights changed: what a socket's master remembers of its connection is brought up to date. */
  z.object({ kind: z.literal('rights'), connectionId: z.string(), role: Role, record: z.boolean() }),
])
export type SessionMessage = z.infer<typeof SessionMessage>
export type SessionNotification = z.infer<typeof notification>
