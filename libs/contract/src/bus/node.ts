import { z } from 'zod'
import { AppliedFilter } from '../filters/filter.js'
import { Id } from '../ids.js'
import { CameraSource, CameraTracks } from './cameras.js'
import { SpeechEngineName, SpeechSettings } from './speech-to-text.js'
import { Language } from '../signalling/speech-to-text.js'
import { RecordingJob, RecordingPartRef, RunningJob } from './recordings.js'
import { MediaserverInfo } from '../rest/media-node.js'
import { TypeOfVideo } from '../participants/members.js'
import { ForcedVideoCodec } from '../rest/session.js'
import {
  DtlsParameters,
  IceParameters,
  LayerKbps,
  Layers,
  PublishedTrack,
  RtpCapabilities,
  SubscribedTrack,
  TransportDirection,
  TransportOptions,
} from '../signalling/rtp.js'

const Nothing = z.object({})
/**
 * The placement of the session that a room belongs to, increased each time the session gets a node. A command with a
 * newer epoch makes the node close the older room first; a command with an older epoch fails with CONFLICT.
 */
export const Epoch = z.number().int().nonnegative()
/** A room that a node holds or held. */
export const HeldRoom = z.object({ roomId: Id, epoch: Epoch })
export type HeldRoom = z.infer<typeof HeldRoom>

/** Whether clients that cannot send or receive the forced codec get transcoded video; without a forced codec always. */
const AllowTranscoding = z.boolean().default(false)

/** The room and connection, part of every command about a participant. */
const Peer = z.object({ roomId: Id, connectionId: Id })

/** A transport that the command has opened: only for connections of `joinPerStream`. */
const OpenedTransport = { transport: TransportOptions.optional() }

/**
 * The video limits of a connection, kbps, resolved from its options and the properties; 0 = unconstrained. "Send" and
 * "recv" take the participant's view: it sends the streams that it publishes.
 */
export const BandwidthLimits = z.object({
  maxSendKbps: z.number().int().nonnegative(),
  minSendKbps: z.number().int().nonnegative(),
  maxRecvKbps: z.number().int().nonnegative(),
  minRecvKbps: z.number().int().nonnegative(),
})
export type BandwidthLimits = z.infer<typeof BandwidthLimits>

/** The data of a joining participant that a media node needs. */
const Joining = Peer.extend({
  sessionId: z.string(),
  epoch: Epoch,
  videoCodec: ForcedVideoCodec,
  allowTranscoding: AllowTranscoding,
  limits: BandwidthLimits,
  /** The participant's data for recordings of the room. */
  record: z.boolean().default(true),
  clientData: z.string().default(''),
  serverData: z.string().default(''),
  /** The interval between measurements of the publishers' networks, ms; 0: they are not measured. */
  networkQualityMs: z.number().int().nonnegative().default(0),
  /** `forwarded`: for clients that send black pictures while they are muted, and whose receivers wait for pictures. */
  mutedVideo: z.enum(['paused', 'forwarded']).default('paused'),
})

/** Candidates as in SDP, without `a=`; null until the transport is connected. */
const TransportDescription = z.object({
  id: z.string(),
  candidates: z.array(z.string()),
  localCandidate: z.string().nullable(),
  remoteCandidate: z.string().nullable(),
})
export type TransportDescription = z.infer<typeof TransportDescription>

/** The commands of masters to a media node, on `node.<nodeId>.<command>`: `[params, result, deadline in ms]`. */
export const NODE_COMMANDS = {
  /** Opens a missing room and creates both transports of the connection. A repeated command replaces them. */
  join: [
    Joining,
    z.object({
      routerRtpCapabilities: RtpCapabilities,
      sendTransport: TransportOptions,
      recvTransport: TransportOptions,
    }),
    4_000,
  ],
  /**
   * As `join`, for a client that uses another transport for each stream: `publish`, `subscribe` and `replaceMedia` open
   * one and return its options.
   */
  joinPerStream: [Joining, z.object({ routerRtpCapabilities: RtpCapabilities }), 4_000],
  /**
   * Closes all transports and tracks of the connection; an empty room stays until `closeRoom`. `returns`: the connection
   * enters again, and the subscriptions of others to its speech go on.
   */
  leave: [Peer.extend({ returns: z.boolean().optional() }), Nothing, 4_000],
  /** Decides whether recordings of the room include the streams of the connection. */
  changePeer: [Peer.extend({ record: z.boolean() }), Nothing, 4_000],
  /**
   * Repeats events for a client that may have missed them: `sendLimitChanged` for each stream of the connection, and
   * `subscriptionReplaced` for each subscription to former tracks.
   */
  reportSendLimits: [Peer, Nothing, 4_000],
  connectTransport: [
    Peer.extend({
      direction: TransportDirection,
      dtlsParameters: DtlsParameters,
      /**
       * The stream of a transport that `publish`, `subscribe` or `replaceMedia` has opened. Connecting the transport of a
       * replaced subscription ends the former one.
       */
      streamId: Id.optional(),
    }),
    Nothing,
    4_000,
  ],
  restartIce: [Peer.extend({ direction: TransportDirection }), z.object({ iceParameters: IceParameters }), 4_000],
  /** CODEC_REFUSED: the session forces another video codec, and the node may not or cannot transcode. */
  publish: [
    Peer.extend({
      streamId: Id,
      tracks: z.array(PublishedTrack).min(1).max(2),
      audioActive: z.boolean(),
      videoActive: z.boolean(),
      typeOfVideo: TypeOfVideo.default('CAMERA'),
      dtlsParameters: DtlsParameters.optional(),
      /**
       * The answer does not wait for the filter. Receivers get the published tracks only while the filter is starting, and
       * after the fact `filterEnded`.
       */
      filter: AppliedFilter.optional(),
    }),
    z.object(OpenedTransport),
    4_000,
  ],
  /**
   * Replaces the published tracks of a stream by others of the same kinds, which keep its mutes and its filter; receivers
   * get the event `subscriptionReplaced`. The former tracks stay open until these have subscribed again, at most 30 s.
   * INVALID: the kinds differ; CODEC_REFUSED as for `publish`.
   */
  replaceMedia: [
    Peer.extend({
      streamId: Id,
      tracks: z.array(PublishedTrack).min(1).max(2),
      dtlsParameters: DtlsParameters.optional(),
    }),
    z.object(OpenedTransport),
    4_000,
  ],
  unpublish: [Peer.extend({ streamId: Id }), Nothing, 4_000],
  /** Pauses or resumes the tracks of a stream at the publisher, and updates the bit rates of its layers. */
  changeStream: [
    Peer.extend({
      streamId: Id,
      audioActive: z.boolean().optional(),
      videoActive: z.boolean().optional(),
      layerKbps: LayerKbps.optional(),
    }),
    Nothing,
    4_000,
  ],
  /** Tracks that the client cannot decode are transcoded, or missing where the node may not or cannot do that. */
  subscribe: [
    Peer.extend({
      streamId: Id,
      rtpCapabilities: RtpCapabilities,
      /** Replaces the tracks of an existing subscription, after the event `subscriptionReplaced`. */
      replace: z.boolean().optional(),
      /** All tracks start paused; absent: those of an unconnected transport do not. */
      paused: z.boolean().optional(),
    }),
    z.object({ tracks: z.array(SubscribedTrack), ...OpenedTransport }),
    4_000,
  ],
  unsubscribe: [Peer.extend({ streamId: Id }), Nothing, 4_000],
  changeSubscription: [
    Peer.extend({
      streamId: Id,
      audio: z.boolean().optional(),
      video: z.boolean().optional(),
      preferredLayers: Layers.optional(),
    }),
    Nothing,
    4_000,
  ],
  /**
   * Opens a missing room, reads a camera and publishes its stream; `leave` ends it. With `tracks`, which a former node
   * reported, the answer does not wait for the camera. A repeated command replaces the camera. INVALID: the node may not
   * read this address; CAMERA_FAILED: the camera cannot be read, with the cause; NO_CAPACITY: the node has no room for it.
   */
  startCamera: [
    Peer.extend({
      sessionId: z.string(),
      epoch: Epoch,
      videoCodec: ForcedVideoCodec,
      allowTranscoding: AllowTranscoding,
      streamId: Id,
      source: CameraSource,
      tracks: CameraTracks.optional(),
      /** As for `publish`. */
      filter: AppliedFilter.optional(),
      record: z.boolean().default(true),
      serverData: z.string().default(''),
    }),
    CameraTracks,
    15_000,
  ],
  /**
   * Applies a filter to a stream of the connection, and answers when receivers get its tracks. It replaces another filter
   * of the stream; a repeated command, with the same `filterId`, has no effect. INVALID: an option is wrong here; NOT_FOUND:
   * no such stream; DISABLED: the node has no media processor; NO_CAPACITY: it has no room for the filter; LAUNCH_FAILED:
   * the filter failed to start.
   */
  applyFilter: [Peer.extend({ streamId: Id, filter: AppliedFilter }), Nothing, 9_700],
  /** NOT_FOUND: there is no such filter; INVALID: the filter rejects the method or its parameters. */
  execFilterMethod: [
    Peer.extend({
      streamId: Id,
      filterId: Id,
      method: z.string(),
      /** Valid for the type of the filter. */
      params: z.record(z.string(), z.unknown()),
    }),
    Nothing,
    4_000,
  ],
  /** Returns to the published tracks. NOT_FOUND: there is no such filter. No fact `filterEnded` follows. */
  removeFilter: [Peer.extend({ streamId: Id, filterId: Id }), Nothing, 4_000],
  /** Closes the room unless it is newer than `epoch`. */
  closeRoom: [HeldRoom, Nothing, 4_000],
  /**
   * Drains the node: it accepts no new rooms and exits when its last room has closed, or after `deadlineMs` (null: no
   * deadline). A later call replaces the deadline; after a signal has started the drain, only an earlier deadline does.
   */
  drain: [z.object({ deadlineMs: z.number().int().nonnegative().nullable() }), Nothing, 4_000],
  /** Cancels the drain; fails with CONFLICT when a signal started it. */
  undrain: [Nothing, Nothing, 4_000],
  /**
   * Shuts the node down gracefully without waiting for its rooms. `givenUp`: only because it did not reconnect in time;
   * it ends with an error, after which its supervisor starts it again.
   */
  terminate: [z.object({ givenUp: z.boolean().optional() }), Nothing, 4_000],
  /** Returns the versions, workers and capabilities of the node. */
  describe: [Nothing, MediaserverInfo, 4_000],
  /** Answers when a file has its first bytes; NO_CAPACITY without a free slot. A repeated command returns the same job. */
  startRecording: [RecordingJob, z.object({ startedAt: z.number() }), 35_000],
  /**
   * Answers at once; the fact `recordingEnded` follows when the files are delivered. `discard`: the recording is deleted,
   * and the part ends without files and fact.
   */
  stopRecording: [RecordingPartRef.extend({ discard: z.boolean().optional() }), Nothing, 4_000],
  /**
   * Loads a language model in a process of its own; answers when it is loaded. NOT_FOUND: no such model on the node;
   * CONFLICT: it is loaded or being loaded; NO_CAPACITY: no free slot or memory; LAUNCH_FAILED: it cannot be loaded.
   */
  loadLanguageModel: [z.object({ lang: Language, engine: SpeechEngineName }), Nothing, 70_000],
  /** NOT_FOUND: no such model on the node; CONFLICT: it is not loaded; IN_USE: it serves subscriptions. */
  unloadLanguageModel: [z.object({ lang: Language }), Nothing, 10_000],
  /**
   * Sends the recognized speech of all streams of the publisher, present and later, to the connection as the event
   * `speechToText`. A repeated command is answered at once; one with another language replaces the former. Under
   * `on_demand` the answer waits until the model is loaded. NOT_FOUND: no such publisher in the room, or no such model;
   * NOT_READY: the model is not loaded (`manual`) or not loaded yet; NO_CAPACITY and LAUNCH_FAILED as for loading;
   * LIMIT_REACHED: the connection has its maximum of subscriptions to speech.
   */
  subscribeToSpeechToText: [
    Peer.extend({ publisherId: Id, lang: Language, settings: SpeechSettings }),
    Nothing,
    // The node answers within 9 s, and clients wait for 10 s.
    9_700,
  ],
  /** NOT_FOUND: there is no such subscription. */
  unsubscribeFromSpeechToText: [Peer.extend({ publisherId: Id }), Nothing, 4_000],
  /**
   * Recognizes the speech of the whole room, of present and later participants, and reports each sentence as the fact
   * `sentenceRecognized`. Ends with the room; after a failure of the model the node starts it again by itself. A
   * repeated command has no effect; one with another language replaces the former. The answer waits until the model is
   * loaded, at most 9 s. NOT_FOUND: no such room, or no such model; NOT_READY: the model is not loaded (`manual`);
   * NO_CAPACITY and LAUNCH_FAILED as for loading.
   */
  startTranscription: [HeldRoom.extend({ lang: Language, settings: SpeechSettings }), Nothing, 9_700],
  /** A room without a transcription is no error. */
  stopTranscription: [HeldRoom, Nothing, 4_000],
  /**
   * The transports of clients in these rooms; none of rooms that are not on the node. A page of them, because a message
   * on the bus is limited: the next call continues after the connection `next`, until an answer has none.
   */
  describeTransports: [
    z.object({ roomIds: z.array(Id), after: Id.optional() }),
    z.object({
      next: Id.optional(),
      connections: z.array(z.object({ connectionId: Id, send: TransportDescription, recv: TransportDescription })),
      /** The transports of connections with a transport for each stream. */
      streams: z
        .array(
          z.object({
            connectionId: Id,
            streamId: Id,
            direction: TransportDirection,
            transport: TransportDescription,
          }),
        )
        .optional(),
    }),
    2_000,
  ],
  /** The node sends a heartbeat at once, and does not rest for some time. */
  wake: [Nothing, Nothing, 1_000],
  /** Lists the rooms and jobs of the node, for reconciliation. */
  inventory: [
    Nothing,
    z.object({
      bootId: Id,
      rooms: z.array(HeldRoom.extend({ connectionIds: z.array(Id), streamIds: z.array(Id) })),
      jobs: z.array(RunningJob).optional(),
      /** The rooms whose whole speech is transcribed. */
      transcriptions: z.array(HeldRoom.extend({ lang: Language })).optional(),
    }),
    4_000,
  ],
} as const satisfies Record<string, readonly [z.ZodType, z.ZodType, number]>

export type NodeCommand = keyof typeof NODE_COMMANDS
export type NodeCommandParams<C extends NodeCommand> = z.input<(typeof NODE_COMMANDS)[C][0]>
export type NodeCommandCall<C extends NodeCommand> = z.output<(typeof NODE_COMMANDS)[C][0]>
export type NodeCommandResult<C extends NodeCommand> = z.output<(typeof NODE_COMMANDS)[C][1]>

/** A command's schemas and deadline, typed by its name. */
export type NodeRpcs = {
  [C in NodeCommand]: readonly [
    params: z.ZodType<NodeCommandCall<C>, NodeCommandParams<C>>,
    result: z.ZodType<NodeCommandResult<C>, NodeCommandResult<C>>,
    deadlineMs: number,
  ]
}
const NODE_RPCS: NodeRpcs = NODE_COMMANDS
export const nodeRpc = <C extends NodeCommand>(command: C): NodeRpcs[C] => NODE_RPCS[command]

export const NODE_COMMAND_NAMES = Object.keys(NODE_COMMANDS) as NodeCommand[]

/**
 * The liveness request to one process of a node, on `node.<nodeId>.boot.<bootId>`. With `register` the process must stop
 * serving and send `hello` again, because another process holds its id.
 */
export const NODE_BOOT_RPC = [z.object({ register: z.boolean().default(false) }), z.object({}), 1_000] as const
