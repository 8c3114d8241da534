import { z } from 'zod'
import { Id } from '../ids.js'
import { RecordingEnded, RecordingJob, RecordingPartRef, RunningJob, Slots } from './recordings.js'
import { MediaserverInfo } from '../rest/media-node.js'
import { TypeOfVideo } from '../rest/connection.js'
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
 * Which placement of the session a room belongs to: raised each time the session gets a node. A node that is asked for
 * a newer one drops the older room first, and refuses with CONFLICT what is older than it holds.
 */
const Epoch = z.number().int().nonnegative()
/** A room that a node holds, or held. */
export const HeldRoom = z.object({ roomId: Id, epoch: Epoch })
export type HeldRoom = z.infer<typeof HeldRoom>

/** Every command about a participant names the room and the connection. */
const Peer = z.object({ roomId: Id, connectionId: Id })

/**
 * Video limits of one connection in kbps, 0 = unconstrained, already resolved from its options and the properties.
 * "Send" and "recv" are from the participant's side: it sends what it publishes.
 */
export const BandwidthLimits = z.object({
  maxSendKbps: z.number().int().nonnegative(),
  minSendKbps: z.number().int().nonnegative(),
  maxRecvKbps: z.number().int().nonnegative(),
  minRecvKbps: z.number().int().nonnegative(),
})
export type BandwidthLimits = z.infer<typeof BandwidthLimits>

/** What masters ask a media node, on `node.<nodeId>.<command>`: `[params, result, deadline in ms]`. */
export const NODE_COMMANDS = {
  /** Opens the room when it is not there, makes both transports of the connection. Again: the same ones anew. */
  join: [
    Peer.extend({
      sessionId: z.string(),
      epoch: Epoch,
      videoCodec: ForcedVideoCodec,
      limits: BandwidthLimits,
      /** What recordings of the room know of the participant. */
      record: z.boolean().default(true),
      clientData: z.string().default(''),
      serverData: z.string().default(''),
    }),
    z.object({
      routerRtpCapabilities: RtpCapabilities,
      sendTransport: TransportOptions,
      recvTransport: TransportOptions,
    }),
    4_000,
  ],
  /** Closes everything of the connection; a room that becomes empty stays until `closeRoom`. */
  leave: [Peer, Nothing, 4_000],
  /** Whether recordings of the room take what the connection publishes. */
  changePeer: [Peer.extend({ record: z.boolean() }), Nothing, 4_000],
  /** Reports the event `sendLimitChanged` of each stream of the connection, for a client that may have missed one. */
  reportSendLimits: [Peer, Nothing, 4_000],
  connectTransport: [Peer.extend({ direction: TransportDirection, dtlsParameters: DtlsParameters }), Nothing, 4_000],
  restartIce: [Peer.extend({ direction: TransportDirection }), z.object({ iceParameters: IceParameters }), 4_000],
  publish: [
    Peer.extend({
      streamId: Id,
      tracks: z.array(PublishedTrack).min(1).max(2),
      audioActive: z.boolean(),
      videoActive: z.boolean(),
      typeOfVideo: TypeOfVideo.default('CAMERA'),
      dtlsParameters: DtlsParameters.optional(),
    }),
    Nothing,
    4_000,
  ],
  unpublish: [Peer.extend({ streamId: Id }), Nothing, 4_000],
  /** Pauses or resumes the tracks of a stream at its source, and takes what its layers are sent with from now on. */
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
  subscribe: [
    Peer.extend({ streamId: Id, rtpCapabilities: RtpCapabilities }),
    z.object({ tracks: z.array(SubscribedTrack) }),
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
  /** Closes the room unless it is newer than `epoch`. */
  closeRoom: [HeldRoom, Nothing, 4_000],
  /**
   * Takes no new rooms; ends by itself when the last one has gone, or `deadlineMs` from now (null: however long that
   * takes). Again: the later call holds, unless the node was told to end by a signal, which only a nearer one changes.
   */
  drain: [z.object({ deadlineMs: z.number().int().nonnegative().nullable() }), Nothing, 4_000],
  /** Takes new rooms again; CONFLICT when the node was told to end by a signal. */
  undrain: [Nothing, Nothing, 4_000],
  /** Ends at once and in order, with whatever it holds. */
  terminate: [Nothing, Nothing, 4_000],
  /** What the node really runs. */
  describe: [Nothing, MediaserverInfo, 4_000],
  /** Answered once the first bytes are in a file. NO_CAPACITY when the node has no slot left. Again: the same job. */
  startRecording: [RecordingJob, z.object({ startedAt: z.number() }), 35_000],
  /** Answered at once; the fact `recordingEnded` follows when the files are delivered. */
  stopRecording: [RecordingPartRef, Nothing, 4_000],
  /** What the node holds, for reconciling. */
  inventory: [
    Nothing,
    z.object({
      bootId: Id,
      rooms: z.array(HeldRoom.extend({ connectionIds: z.array(Id), streamIds: z.array(Id) })),
      jobs: z.array(RunningJob).optional(),
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
 * Asked of one process of a node, on `node.<nodeId>.boot.<bootId>`. An answer proves that the process is alive.
 * `register`: it must stop serving and send `hello` again, since another process holds its id.
 */
export const NODE_BOOT_RPC = [z.object({ register: z.boolean().default(false) }), z.object({}), 1_000] as const

/** Published on `heartbeat.<nodeId>` every HEARTBEAT_INTERVAL_MS. */
export const Heartbeat = z.object({
  nodeId: Id,
  /** New at every start of the process: what an older boot held is gone. */
  bootId: Id,
  /** UTC ms by the node's clock, which may be wrong: its other times say how long before or after this they are. */
  sentAt: z.number(),
  /** When the process started, UTC ms at the node. */
  launchedAt: z.number().default(0),
  version: z.string().default(''),
  ip: z.string(),
  /** Where media is taken: `ws://<address>:<port of the first worker>/mediaserver`; names the node in `POST media-nodes`. */
  uri: z.string().default(''),
  /** What the operator or a driver calls the machine. */
  environmentId: z.string().default(''),
  /** False: the node waits until it is added over REST. */
  joins: z.boolean().default(true),
  status: z.enum(['running', 'draining']),
  /** While it drains: when it ends whatever it holds, UTC ms; null without a deadline. */
  drainDeadline: z.number().nullable().default(null),
  /** Share of the machine's processors in use, 0–100. */
  cpuLoad: z.number().min(0).max(100),
  memoryBytes: z.number().nonnegative(),
  /** What it holds, and what its young rooms are expected to grow to, at the prices of COST: percent of one core. */
  committed: z.number().nonnegative().default(0),
  /** Rooms it has opened since it started: tells a master which of its placements `committed` knows of. */
  roomsOpened: z.number().int().nonnegative().default(0),
  jobs: z.array(RunningJob).default([]),
  slots: z.object({ recording: Slots }).optional(),
  /** Those that take rooms: none while they keep dying. */
  workers: z.number().int().nonnegative(),
  rooms: z.number().int().nonnegative(),
  connections: z.number().int().nonnegative(),
  streams: z.number().int().nonnegative(),
  consumers: z.number().int().nonnegative(),
})
export type Heartbeat = z.infer<typeof Heartbeat>

export const HEARTBEAT_INTERVAL_MS = 500
/** A node that has been silent this long is lost. */
export const NODE_SILENT_MS = 3_000

const factBase = { factId: Id, nodeId: Id, bootId: Id }

/**
 * What a node reports of itself on `fact.<nodeId>`: an acknowledged request to one master of the queue group,
 * repeated until acknowledged; `factId` makes a repeat harmless.
 */
export const NodeFact = z.discriminatedUnion('kind', [
  /**
   * Before the node serves, and again after a lost bus. Masters answer with the rooms to drop, or refuse the process
   * when another one that is alive holds the id.
   */
  z.object({ ...factBase, kind: z.literal('hello'), ip: z.string(), rooms: z.array(HeldRoom) }),
  /** Rooms that died with their worker. */
  z.object({ ...factBase, kind: z.literal('roomsLost'), rooms: z.array(HeldRoom).min(1) }),
  /** A part of a recording has ended and its files are delivered. */
  z.object({ ...factBase, kind: z.literal('recordingEnded'), ended: RecordingEnded }),
  /** Changes nothing; the answer has the time. */
  z.object({ ...factBase, kind: z.literal('clock') }),
  /** The node ends in order; rooms that it still held are closed. */
  z.object({ ...factBase, kind: z.literal('goodbye'), rooms: z.array(HeldRoom) }),
])
export type NodeFact = z.infer<typeof NodeFact>
export const NodeFactAnswer = z.object({
  dropRoomIds: z.array(Id).default([]),
  /** Why the process must end: another one holds the id of the node. */
  refused: z.string().optional(),
  /** UTC ms by the clock of the masters. */
  now: z.number().optional(),
})
export type NodeFactAnswer = z.infer<typeof NodeFactAnswer>

/** What a node tells every master without asking for an answer, on `nodeEvent.<roomId>`. */
export const RoomEvent = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('layersChanged'),
    /** Of the room it happened in: what an older room says is not heard. */
    epoch: Epoch,
    connectionId: Id,
    streamId: Id,
    layers: Layers.nullable(),
  }),
  z.object({
    kind: z.literal('sendLimitChanged'),
    epoch: Epoch,
    /** The publisher. */
    connectionId: Id,
    streamId: Id,
    /** The lowest maximum of the receivers of the stream; 0 = none is below the publisher's own. */
    maxKbps: z.number().int().nonnegative(),
  }),
])
export type RoomEvent = z.infer<typeof RoomEvent>
