import { z } from 'zod'
import { DisconnectReason, RecordingStopReason, StreamChangeReason, StreamDestroyedReason } from '../reasons.js'
import { Layers } from './rtp.js'
import { ConnectionInfo, RecordingInfo, SessionSnapshot, StreamInfo } from './views.js'

/** What the server tells a client unasked. */
export const SIGNALLING_NOTIFICATIONS = {
  connectionCreated: ConnectionInfo,
  connectionDestroyed: z.object({ connectionId: z.string(), reason: DisconnectReason }),
  /** To the connection it names. */
  connectionPropertyChanged: z.object({
    connectionId: z.string(),
    changedProperty: z.enum(['role', 'record']),
    newValue: z.union([z.string(), z.boolean()]),
  }),
  streamCreated: StreamInfo,
  streamDestroyed: z.object({ streamId: z.string(), connectionId: z.string(), reason: StreamDestroyedReason }),
  streamPropertyChanged: z.object({
    streamId: z.string(),
    connectionId: z.string(),
    changedProperty: z.enum(['audioActive', 'videoActive', 'videoDimensions', 'frameRate']),
    newValue: z.union([z.boolean(), z.string(), z.number(), z.null()]),
    reason: StreamChangeReason,
  }),
  /** `type` always with its prefix: `signal` alone or `signal:<type>`; `from` absent when sent over REST. */
  signal: z.object({ type: z.string(), data: z.string(), from: z.string().optional() }),
  /** The layers the server now sends of a simulcast subscription; null while none. */
  layersChanged: z.object({ streamId: z.string(), layers: Layers.nullable() }),
  /**
   * To the publisher of the stream: the lowest maximum of its receivers, 0 = none is below the publisher's own. A single
   * encoding is limited to it, and the lowest layer of simulcast.
   */
  sendLimitChanged: z.object({ streamId: z.string(), maxKbps: z.number().int().nonnegative() }),
  /** To those whom SERVICE_RECORDING_NOTIFICATION names. */
  recordingStarted: RecordingInfo,
  recordingStopped: RecordingInfo.extend({ reason: RecordingStopReason }),
  /** The truth after messages may have been lost: the client works out what it missed. */
  snapshot: SessionSnapshot,
  /** The receiver is out; the socket closes after it. */
  sessionDisconnected: z.object({ reason: DisconnectReason }),
  /**
   * The media of the session is gone with its node or worker; connections and streams go on. It comes back as
   * `mediaEpoch`, one above that of the media lost, or later: call `rejoin` after `afterMs`, which spreads the clients
   * over time. Until then whatever needs the media is refused with UNAVAILABLE. Not news to who has that epoch already.
   */
  mediaLost: z.object({ mediaEpoch: z.number(), afterMs: z.number() }),
  /** This server is going away: open a new socket to the same address after `afterMs` and resume. */
  reconnect: z.object({ afterMs: z.number() }),
} as const satisfies Record<string, z.ZodType>

export type SignallingNotification = keyof typeof SIGNALLING_NOTIFICATIONS
export type NotificationParams<N extends SignallingNotification> = z.output<(typeof SIGNALLING_NOTIFICATIONS)[N]>

export const isSignallingNotification = (name: string): name is SignallingNotification =>
  Object.hasOwn(SIGNALLING_NOTIFICATIONS, name)
