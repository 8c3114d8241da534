import { z } from 'zod'
import { Filter, FilterView } from '../filters/filter.js'
import { Id } from '../ids.js'
import { Language } from './speech-to-text.js'
import { text } from '../optional.js'
import { StreamChangeReason } from '../reasons.js'
import { DATA_MAX_LENGTH, IceServerView, Role, TypeOfVideo } from '../participants/members.js'
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
import { EXPERIENCE_LIMITS, SIGNALLING_LIMITS } from './envelope.js'
import { SessionSnapshot } from './views.js'

const Nothing = z.object({})
/** At most one track of each kind. */
const OfferedTracks = z
  .array(OfferedTrack)
  .min(1)
  .max(2)
  .refine(
    (tracks) => new Set(tracks.map(({ kind }) => kind)).size === tracks.length,
    'must contain at most one track of each kind',
  )
const dimensions = z
  .string()
  .max(64)
  .regex(/^\{"width":\d{1,5},"height":\d{1,5}\}$/, 'must be the JSON text {"width":W,"height":H}')

/** The shared secret of a TURN server stays with the service. */
export const ClientIceServer = IceServerView.omit({ staticAuthSecret: true })
export type ClientIceServer = z.infer<typeof ClientIceServer>

/** Everything a client needs to send and receive at the session's node; `mediaEpoch` of the snapshot is its epoch. */
const media = {
  routerRtpCapabilities: RtpCapabilities,
  sendTransport: TransportOptions,
  recvTransport: TransportOptions,
  iceServers: z.array(ClientIceServer),
  snapshot: SessionSnapshot,
}

/** The answer to `join`: everything a client needs to send and receive without a further round trip. */
const JoinResult = z.object({
  connectionId: z.string(),
  sessionId: z.string(),
  role: Role,
  record: z.boolean(),
  createdAt: z.number(),
  serverData: z.string(),
  /** Server version, semver. */
  version: z.string(),
  /** Authenticates later sockets of the participant; valid as long as the connection exists. */
  resumeKey: z.string(),
  /** The interval of `ping`, ms; a socket that is silent for `evictAfter` ms ends the connection. */
  pingInterval: z.number(),
  evictAfter: z.number(),
  ...media,
  simulcast: z.boolean(),
  /** The maximum video bit rate of the connection, kbps; 0 = unconstrained. */
  maxSendKbps: z.number(),
  /** The minimum bit rate that the video encoder should keep, kbps; 0 = unconstrained. */
  minSendKbps: z.number().default(0),
  /** The types of filters that a PUBLISHER may apply to its own streams. */
  allowedFilters: z.array(z.string()).optional(),
})

const StepMs = z.number().min(0).max(EXPERIENCE_LIMITS.stepMs)
const Seconds = z.number().min(0).max(EXPERIENCE_LIMITS.videoSeconds)

/** The experience of a participant, measured by its client. */
const Experience = z.object({
  /** The time of each step of joining; only in the first report after `join`. */
  join: z
    .object({
      /** Until the socket was open. */
      socketMs: StepMs,
      /** From then until the answer to `join`. */
      answerMs: StepMs,
      /** From the start of ICE until the first transport was connected. */
      iceMs: StepMs.optional(),
      /** From the first subscription until its first frame was shown. */
      mediaMs: StepMs.optional(),
    })
    .optional(),
  /** How the media is sent, in the first report: by a TURN relay, or else directly over UDP or TCP. */
  candidate: z.enum(['udp', 'tcp', 'relay']).optional(),
  /** The received videos since the last report. */
  playback: z
    .object({
      /** The sum over all videos. */
      videoSeconds: Seconds,
      freezes: z.number().int().min(0).max(EXPERIENCE_LIMITS.freezes),
      frozenSeconds: Seconds,
    })
    .optional(),
})

/**
 * The methods of clients: `[params, result]` each. Before `join` or `resume` all other methods fail with NOT_ALLOWED.
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
  /** Attaches a new socket to a participant whose old one was lost. Its media has continued meanwhile. */
  resume: [
    z.object({
      connectionId: Id,
      resumeKey: z.string().max(200),
      /** The ids of the last received signals; the missed ones follow the answer. */
      receivedSignals: z.array(z.number().int().nonnegative()).max(SIGNALLING_LIMITS.missedSignals.count).optional(),
    }),
    z.object({ role: Role, record: z.boolean(), snapshot: SessionSnapshot }),
  ],
  /**
   * Creates new transports at the session's current node, after `mediaLost` or a snapshot with a newer `mediaEpoch`. The
   * client then publishes its streams again with their ids, and subscribes again to those in the snapshot. Retry after
   * UNAVAILABLE, NO_CAPACITY and TIMEOUT as long as the session exists. A call at any other time ends the previous
   * publications and subscriptions of the caller.
   */
  rejoin: [Nothing, z.object(media)],
  ping: [Nothing, Nothing],
  leave: [Nothing, Nothing],
  /** For the metrics of the service; sent without an `id`. Ignored more often than once in `EXPERIENCE_LIMITS.every`. */
  reportExperience: [Experience, Nothing],
  connectTransport: [z.object({ direction: TransportDirection, dtlsParameters: DtlsParameters }), Nothing],
  /** New credentials, because those from joining may have expired. */
  restartIce: [
    z.object({ direction: TransportDirection }),
    z.object({ iceParameters: IceParameters, iceServers: z.array(ClientIceServer).optional() }),
  ],
  publish: [
    z.object({
      /** The id of an own stream whose media was lost, which continues with the same id. */
      streamId: Id.optional(),
      tracks: OfferedTracks,
      audioActive: z.boolean().default(true),
      videoActive: z.boolean().default(true),
      typeOfVideo: TypeOfVideo.exclude(['IPCAM']).default('CAMERA'),
      frameRate: z.number().min(-1).max(240).nullable().default(null),
      videoDimensions: dimensions.nullable().default(null),
      /** Connects the send transport with the first publication. */
      dtlsParameters: DtlsParameters.optional(),
      /**
       * The filter of a new stream. A stream that is published again keeps the filter that it had. The answer does not
       * wait for the filter.
       */
      filter: Filter.optional(),
    }),
    z.object({ streamId: z.string(), createdAt: z.number(), filter: FilterView.optional() }),
  ],
  /**
   * Replaces the tracks of an own stream by others of the same kinds: of another encoder, for example. The stream keeps
   * its id, its mutes and its filter, subscribers get `subscriptionReplaced`, and no stream ends. The client sends the
   * former tracks for a few seconds more, because subscribers play them until they have subscribed again.
   */
  replaceMedia: [z.object({ streamId: Id, tracks: OfferedTracks, dtlsParameters: DtlsParameters.optional() }), Nothing],
  unpublish: [
    z.object({
      streamId: Id,
      /** The filter stays for the next publication with this id: the answer to an earlier one was lost. */
      keepFilter: z.boolean().optional(),
    }),
    Nothing,
  ],
  /** Changes an own stream: muting, dimensions, or the layers of a different video size. */
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
    z.object({
      streamId: Id,
      rtpCapabilities: RtpCapabilities,
      /** Replaces the tracks of a subscription after `subscriptionReplaced`. */
      replace: z.boolean().optional(),
      /** All tracks start paused, on an unconnected transport too: the client connects it before it knows the tracks. */
      paused: z.boolean().optional(),
    }),
    z.object({ createdAt: z.number(), tracks: z.array(SubscribedTrack) }),
  ],
  unsubscribe: [z.object({ streamId: Id }), Nothing],
  /** Pauses, resumes or selects layers of a subscription; absent members stay unchanged. */
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
  /**
   * Requests the speech of the streams of a connection, also of the own one, as `speechToTextMessage`; another language
   * replaces the former. May take 10 s while a model is loaded. DISABLED: speech to text is off; NOT_FOUND: no such
   * connection or language model; NOT_READY: the model is not loaded. Lost with the media: call it again after `rejoin`.
   */
  subscribeToSpeechToText: [z.object({ connectionId: Id, lang: Language }), Nothing],
  unsubscribeFromSpeechToText: [z.object({ connectionId: Id }), Nothing],
  /**
   * Applies a filter to a stream; answers when it works, after at most 10 s. A PUBLISHER may apply the types in its
   * `allowedFilters` to its own streams, a MODERATOR all types to all streams; the other methods of filters need the same
   * right for the type of the filter. INVALID names the wrong option; CONFLICT: the stream has a filter; DISABLED: its
   * node cannot apply filters; NO_CAPACITY: its node is too busy; LAUNCH_FAILED: the filter failed to start. The filter
   * ends with its stream, and survives a loss of the media.
   */
  applyFilter: [Filter.extend({ streamId: Id }), z.object({ filter: FilterView })],
  /** Changes a filter while it works. NOT_FOUND: the stream has no filter. */
  execFilterMethod: [
    z.object({ streamId: Id, method: z.string().max(64), params: z.record(z.string(), z.unknown()).default({}) }),
    z.object({ filter: FilterView }),
  ],
  removeFilter: [z.object({ streamId: Id }), Nothing],
  /** Requests the events of this type from the filter of a stream, as `filterEventDispatched`, until the filter ends. */
  addFilterEventListener: [z.object({ streamId: Id, eventType: text(64) }), Nothing],
  removeFilterEventListener: [z.object({ streamId: Id, eventType: text(64) }), Nothing],
  forceDisconnect: [z.object({ connectionId: Id }), Nothing],
  forceUnpublish: [z.object({ streamId: Id }), Nothing],
} as const satisfies Record<string, readonly [z.ZodType, z.ZodType]>

export type SignallingMethod = keyof typeof SIGNALLING_METHODS
/** The input of a method, where defaults are optional. */
export type SignallingParams<M extends SignallingMethod> = z.input<(typeof SIGNALLING_METHODS)[M][0]>
/** The parsed parameters, including defaults. */
export type SignallingCall<M extends SignallingMethod> = z.output<(typeof SIGNALLING_METHODS)[M][0]>
export type SignallingResult<M extends SignallingMethod> = z.output<(typeof SIGNALLING_METHODS)[M][1]>

export const isSignallingMethod = (name: string): name is SignallingMethod => Object.hasOwn(SIGNALLING_METHODS, name)
