import { z } from 'zod'
import { Id } from '../ids.js'
import { text } from '../optional.js'
import { StreamChangeReason } from '../reasons.js'
import { DATA_MAX_LENGTH, IceServerView, Role, TypeOfVideo } from '../rest/connection.js'
import {
  DtlsParameters,
  IceParameters,
  LayerKbps,
  Layers,
  OfferedTrack,
  RtpCapabilities,
  SubscribedTrack,
  TransportDirection,
  TransportOptions,
} from './rtp.js'
import { SIGNALLING_LIMITS } from './envelope.js'
import { SessionSnapshot } from './views.js'

const Nothing = z.object({})
const dimensions = z
  .string()
  .max(64)
  .regex(/^\{"width":\d{1,5},"height":\d{1,5}\}$/, 'must be the JSON text {"width":W,"height":H}')

/** All that a client needs to send and receive at the session's node; the snapshot's `mediaEpoch` is that of the media. */
const media = {
  routerRtpCapabilities: RtpCapabilities,
  sendTransport: TransportOptions,
  recvTransport: TransportOptions,
  iceServers: z.array(IceServerView),
  snapshot: SessionSnapshot,
}

/** What the server tells a client once it is in: everything to send and receive with no further round trip. */
const JoinResult = z.object({
  connectionId: z.string(),
  sessionId: z.string(),
  role: Role,
  record: z.boolean(),
  createdAt: z.number(),
  serverData: z.string(),
  /** Server version, semver. */
  version: z.string(),
  /** Proves that a later socket belongs to this participant; good for as long as the connection lives. */
  resumeKey: z.string(),
  /** Send `ping` this often, in ms; a socket silent for `evictAfter` ms ends the connection. */
  pingInterval: z.number(),
  evictAfter: z.number(),
  ...media,
  simulcast: z.boolean(),
  /** Upper bound of the video this connection may send, kbps; 0 = unconstrained. */
  maxSendKbps: z.number(),
  /** What the encoder of this connection's video is asked not to go below, kbps; 0 = unconstrained. */
  minSendKbps: z.number().default(0),
})

/**
 * The methods a client may call: `[params, result]` each.
 * Before `join` or `resume` every other method is refused with NOT_ALLOWED.
 */
export const SIGNALLING_METHODS = {
  join: [
    z.object({
      /** The `tok_…` part of the connection's token. */
      token: z.string().max(200),
      clientData: text(DATA_MAX_LENGTH).default(''),
      platform: text(512).optional(),
    }),
    JoinResult,
  ],
  /** A new socket for a participant whose old one dropped. Its media went on meanwhile. */
  resume: [
    z.object({
      connectionId: Id,
      resumeKey: z.string().max(200),
      /** Ids of the last signals that the client received: those it missed follow the answer. */
      receivedSignals: z.array(z.number().int().nonnegative()).max(SIGNALLING_LIMITS.missedSignals.count).optional(),
    }),
    z.object({ role: Role, record: z.boolean(), snapshot: SessionSnapshot }),
  ],
  /**
   * After `mediaLost`, or a snapshot with a newer `mediaEpoch`: new transports where the session's media is now. Streams
   * are published again under their ids, and those in the snapshot subscribed to again. UNAVAILABLE, NO_CAPACITY and
   * TIMEOUT mean: try again a little later, for as long as the session lives. It may be called at any time and twice: what
   * the caller published and received before is over then.
   */
  rejoin: [Nothing, z.object(media)],
  ping: [Nothing, Nothing],
  leave: [Nothing, Nothing],
  connectTransport: [z.object({ direction: TransportDirection, dtlsParameters: DtlsParameters }), Nothing],
  /** The credentials of `iceServers` from joining may be over: with those of now relays can be opened again. */
  restartIce: [
    z.object({ direction: TransportDirection }),
    z.object({ iceParameters: IceParameters, iceServers: z.array(IceServerView).optional() }),
  ],
  publish: [
    z.object({
      /** Of an own stream whose media was lost: it goes on under its id. */
      streamId: Id.optional(),
      /** At most one track of a kind. */
      tracks: z
        .array(OfferedTrack)
        .min(1)
        .max(2)
        .refine((tracks) => new Set(tracks.map(({ kind }) => kind)).size === tracks.length, 'one track of a kind'),
      audioActive: z.boolean().default(true),
      videoActive: z.boolean().default(true),
      typeOfVideo: TypeOfVideo.exclude(['IPCAM']).default('CAMERA'),
      frameRate: z.number().min(-1).max(240).nullable().default(null),
      videoDimensions: dimensions.nullable().default(null),
      /** With the first publication: connects the send transport in the same message. */
      dtlsParameters: DtlsParameters.optional(),
    }),
    z.object({ streamId: z.string(), createdAt: z.number() }),
  ],
  unpublish: [z.object({ streamId: Id }), Nothing],
  /** The publisher's own stream: mute and unmute, new dimensions, other layers after another picture. */
  changeStream: [
    z.object({
      streamId: Id,
      audioActive: z.boolean().optional(),
      videoActive: z.boolean().optional(),
      videoDimensions: dimensions.optional(),
      frameRate: z.number().min(-1).max(240).optional(),
      layerKbps: LayerKbps.optional(),
      reason: StreamChangeReason,
    }),
    Nothing,
  ],
  subscribe: [
    z.object({ streamId: Id, rtpCapabilities: RtpCapabilities }),
    z.object({ createdAt: z.number(), tracks: z.array(SubscribedTrack) }),
  ],
  unsubscribe: [z.object({ streamId: Id }), Nothing],
  /** Pause, resume and choose layers of a subscription; absent members stay as they are. */
  changeSubscription: [
    z.object({
      streamId: Id,
      audio: z.boolean().optional(),
      video: z.boolean().optional(),
      preferredLayers: Layers.optional(),
    }),
    Nothing,
  ],
  signal: [
    z.object({
      to: z.array(Id).max(SIGNALLING_LIMITS.signalRecipients).default([]),
      type: text(256).optional(),
      data: text(DATA_MAX_LENGTH).default(''),
    }),
    Nothing,
  ],
  forceDisconnect: [z.object({ connectionId: Id }), Nothing],
  forceUnpublish: [z.object({ streamId: Id }), Nothing],
} as const satisfies Record<string, readonly [z.ZodType, z.ZodType]>

export type SignallingMethod = keyof typeof SIGNALLING_METHODS
/** What a caller sends, defaults left out. */
export type SignallingParams<M extends SignallingMethod> = z.input<(typeof SIGNALLING_METHODS)[M][0]>
/** What a handler gets, defaults filled in. */
export type SignallingCall<M extends SignallingMethod> = z.output<(typeof SIGNALLING_METHODS)[M][0]>
export type SignallingResult<M extends SignallingMethod> = z.output<(typeof SIGNALLING_METHODS)[M][1]>

export const isSignallingMethod = (name: string): name is SignallingMethod => Object.hasOwn(SIGNALLING_METHODS, name)
