import { z } from 'zod'
import { FilterEvent } from '../filters/filter.js'
import { Id } from '../ids.js'
import { NetworkQualityChange } from '../network-quality.js'
import { Layers } from '../signalling/rtp.js'
import { Language, SpeechToTextMessage } from '../signalling/speech-to-text.js'
import { CameraChange } from './cameras.js'
import { Epoch, HeldRoom } from './node.js'
import { RecordingEnded } from './recordings.js'
import { TranscriptSentence } from './speech-to-text.js'

const factBase = { factId: Id, nodeId: Id, bootId: Id }

/**
 * A report of a node on `fact.<nodeId>`: a request to one master of the queue group, repeated until it is acknowledged.
 * `factId` identifies repetitions.
 */
export const NodeFact = z.discriminatedUnion('kind', [
  /**
   * Registers the node before it serves, and again after a loss of the bus. Masters answer with the rooms to close, or
   * refuse the process while another live process holds the id.
   */
  z.object({ ...factBase, kind: z.literal('hello'), ip: z.string(), rooms: z.array(HeldRoom) }),
  /** The rooms of a worker that crashed. */
  z.object({ ...factBase, kind: z.literal('roomsLost'), rooms: z.array(HeldRoom).min(1) }),
  /** A part of a recording has ended and its files are delivered. */
  z.object({ ...factBase, kind: z.literal('recordingEnded'), ended: RecordingEnded }),
  /** A sentence of a session with transcripts. Masters store each `factId` once. */
  z.object({ ...factBase, kind: z.literal('sentenceRecognized'), roomId: Id, sentence: TranscriptSentence }),
  /** The state of a camera has changed. */
  z.object({ ...factBase, kind: z.literal('cameraChanged'), camera: CameraChange }),
  /** The network of a publisher has another quality. */
  z.object({ ...factBase, kind: z.literal('networkQualityChanged'), quality: NetworkQualityChange }),
  /** The program of a filter has failed or not started, and receivers get the published tracks. */
  z.object({
    ...factBase,
    kind: z.literal('filterEnded'),
    roomId: Id,
    epoch: Epoch,
    connectionId: Id,
    streamId: Id,
    filterId: Id,
    /** The cause, for logs. */
    reason: z.string(),
  }),
  /** An event of a filter. The node limits their rate; masters may receive one twice. */
  z.object({ ...factBase, kind: z.literal('filterEvent'), roomId: Id, epoch: Epoch, filterId: Id, event: FilterEvent }),
  /** Requests the time of the masters without a report. */
  z.object({ ...factBase, kind: z.literal('clock') }),
  /** The node shuts down gracefully; it has closed its remaining rooms. */
  z.object({ ...factBase, kind: z.literal('goodbye'), rooms: z.array(HeldRoom) }),
])
export type NodeFact = z.infer<typeof NodeFact>

/** The intervals between samples that nodes take for their metrics, ms; 0: never. */
export const StatisticsIntervals = z.object({
  /** The interval for the media transports and their streams. */
  media: z.number().int().nonnegative(),
  /** The interval for the load of the machine. */
  machine: z.number().int().nonnegative(),
})
export type StatisticsIntervals = z.infer<typeof StatisticsIntervals>

export const NodeFactAnswer = z.object({
  dropRoomIds: z.array(Id).default([]),
  /** The reason why the process must exit: another one holds the id of the node. */
  refused: z.string().optional(),
  /** UTC ms of the masters' clock. */
  now: z.number().optional(),
  /** In the answer to the fact `clock`, so that a node follows a restart of the masters. */
  statistics: StatisticsIntervals.optional(),
})
export type NodeFactAnswer = z.infer<typeof NodeFactAnswer>

/** An event of a room for all masters, without an answer, on `nodeEvent.<roomId>`. */
export const RoomEvent = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('layersChanged'),
    /** The epoch of the room; masters ignore events of an older room. */
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
    /** The lowest maximum of the stream's receivers; 0 = none is below the publisher's own limit. */
    maxKbps: z.number().int().nonnegative(),
  }),
  z.object({
    kind: z.literal('speechToText'),
    epoch: Epoch,
    /** The connections that subscribed. */
    to: z.array(Id).min(1),
    message: SpeechToTextMessage,
  }),
  /** The process of a model failed, and with it these subscriptions to the publisher's speech; clients subscribe again. */
  z.object({
    kind: z.literal('speechToTextDisconnected'),
    epoch: Epoch,
    to: z.array(Id).min(1),
    /** The publisher. */
    connectionId: Id,
    lang: Language,
    message: z.string(),
  }),
  /** The tracks of these subscriptions to a stream are replaced: their clients subscribe again with `replace`. */
  z.object({
    kind: z.literal('subscriptionReplaced'),
    epoch: Epoch,
    to: z.array(Id).min(1),
    /** The publisher. */
    connectionId: Id,
    streamId: Id,
  }),
])
export type RoomEvent = z.infer<typeof RoomEvent>
