import { z } from 'zod'
import { NetworkQualityLevel } from '../network-quality.js'
import { FilterEvent, FilterView } from '../filters/filter.js'
import {
  DisconnectReason,
  FilterChangeReason,
  RecordingStopReason,
  StreamChangeReason,
  StreamDestroyedReason,
} from '../reasons.js'
import { CameraStatus } from '../participants/members.js'
import { SpeechToTextMessage } from './speech-to-text.js'
import { Layers, MediaKind } from './rtp.js'
import { ConnectionInfo, RecordingInfo, SessionSnapshot, StreamInfo } from './views.js'

/** The server's notifications to clients. */
export const SIGNALLING_NOTIFICATIONS = {
  connectionCreated: ConnectionInfo,
  connectionDestroyed: z.object({ connectionId: z.string(), reason: DisconnectReason }),
  /** Sent to the named connection. */
  connectionPropertyChanged: z.object({
    connectionId: z.string(),
    changedProperty: z.enum(['role', 'record']),
    newValue: z.union([z.string(), z.boolean()]),
  }),
  streamCreated: StreamInfo.extend({
    /** The stream was lost with its media, and its publisher has published it again. */
    returned: z.boolean().optional(),
  }),
  streamDestroyed: z.object({ streamId: z.string(), connectionId: z.string(), reason: StreamDestroyedReason }),
  streamPropertyChanged: z.object({
    streamId: z.string(),
    connectionId: z.string(),
    changedProperty: z.enum(['audioActive', 'videoActive', 'videoDimensions', 'frameRate', 'filter']),
    /** An object for `filter`. */
    newValue: z.union([z.boolean(), z.string(), z.number(), z.null(), FilterView]),
    reason: z.enum([...StreamChangeReason.options, ...FilterChangeReason.options]),
  }),
  /** A publisher with a client of version 2 sends another track; the subscriptions go on with it. `label`: its device. */
  trackReplaced: z.object({ streamId: z.string(), connectionId: z.string(), kind: MediaKind, label: z.string() }),
  /** An event of a filter, sent to the connections with a listener for it. */
  filterEventDispatched: FilterEvent,
  /**
   * The tracks of a subscription are replaced, because a filter starts or ends for example: call `subscribe` again with
   * `replace: true`. The old tracks continue until then, or end.
   */
  subscriptionReplaced: z.object({ streamId: z.string() }),
  /** `type` is `signal` or `signal:<type>`; `from` is absent for signals of the REST API. */
  signal: z.object({ type: z.string(), data: z.string(), from: z.string().optional() }),
  /** The layers that the server sends for a simulcast subscription; null while it sends none. */
  layersChanged: z.object({ streamId: z.string(), layers: Layers.nullable() }),
  /**
   * Sent to the publisher of the stream: the lowest maximum of its receivers, 0 = none is below the publisher's own limit.
   * It limits a single encoding, or the lowest layer of simulcast.
   */
  sendLimitChanged: z.object({ streamId: z.string(), maxKbps: z.number().int().nonnegative() }),
  /** Sent to the roles that SERVICE_RECORDING_NOTIFICATION selects. */
  recordingStarted: RecordingInfo,
  recordingStopped: RecordingInfo.extend({ reason: RecordingStopReason }),
  speechToTextMessage: SpeechToTextMessage,
  /**
   * The recognition of this connection's speech in this language failed, and the subscription to it ended: subscribe
   * again.
   */
  speechToTextDisconnected: z.object({ connectionId: z.string(), lang: z.string(), message: z.string() }),
  /** The state of a camera on the network has changed; `error` is the cause of the last failure. */
  cameraStatusChanged: z.object({ connectionId: z.string(), status: CameraStatus, error: z.string().nullable() }),
  /** The quality of a publisher's network has changed, from 5 (excellent) to 0; the first one has no `oldValue`. */
  networkQualityLevelChanged: z.object({
    connectionId: z.string(),
    newValue: NetworkQualityLevel,
    oldValue: NetworkQualityLevel.optional(),
  }),
  /** The complete state, sent when messages may have been lost; the client derives the missed changes. */
  snapshot: SessionSnapshot,
  /** The receiving participant has ended; the server then closes the socket. */
  sessionDisconnected: z.object({ reason: DisconnectReason }),
  /**
   * The media of the session was lost with its node or worker; connections and streams continue. The next media has the
   * epoch `mediaEpoch`, one above the lost one, or a later one: call `rejoin` after `afterMs`, which spreads the clients
   * over time. Until then requests that need the media fail with UNAVAILABLE. Ignore a known epoch.
   */
  mediaLost: z.object({ mediaEpoch: z.number(), afterMs: z.number() }),
  /** The server shuts down: open a new socket to the same URL after `afterMs` and resume. */
  reconnect: z.object({ afterMs: z.number() }),
} as const satisfies Record<string, z.ZodType>

export type SignallingNotification = keyof typeof SIGNALLING_NOTIFICATIONS
export type NotificationParams<N extends SignallingNotification> = z.output<(typeof SIGNALLING_NOTIFICATIONS)[N]>

export const isSignallingNotification = (name: string): name is SignallingNotification =>
  Object.hasOwn(SIGNALLING_NOTIFICATIONS, name)
