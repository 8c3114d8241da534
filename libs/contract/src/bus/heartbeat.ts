import { z } from 'zod'
import { Id } from '../ids.js'
import { OpsAddress } from './node-process.js'
import { RunningJob, Slots } from './recordings.js'
import { LanguageModelState } from './speech-to-text.js'

export const HEARTBEAT_INTERVAL_MS = 500
/**
 * The interval of a node that rests: it has had no work for some time. Shorter than the silent window of older masters.
 */
export const RESTING_INTERVAL_MS = 2_000
/** A node without a heartbeat for this time counts as lost, unless it rests. */
export const NODE_SILENT_MS = 3_000
/**
 * How long a node with this interval of heartbeats may be silent before it counts as lost, ms: the longest gap of the bus
 * that does not show, which two intervals limit, and the two heartbeats that it may hide.
 */
export const silentMsOf = (everyMs: number, silentMs = NODE_SILENT_MS): number =>
  silentMs + 4 * (everyMs - HEARTBEAT_INTERVAL_MS)

/** Published on `heartbeat.<nodeId>`. */
export const Heartbeat = z.object({
  nodeId: Id,
  /** New at every start of the process; rooms of an earlier boot no longer exist. */
  bootId: Id,
  /** UTC ms of the node's clock, which may be wrong: use the other times only relative to this one. */
  sentAt: z.number(),
  /** The time to the next heartbeat at most, ms: longer while the node rests. */
  everyMs: z.number().min(100).max(10_000).default(HEARTBEAT_INTERVAL_MS),
  /** The start of the process, UTC ms of the node's clock. */
  launchedAt: z.number().default(0),
  version: z.string().default(''),
  ip: z.string(),
  /** Where masters on the same network may reach the listener for probes; null while it is unknown. */
  ops: OpsAddress.nullable().default(null),
  /** Identifies the node in `POST media-nodes`: `ws://<address>:<port of the first worker>/mediaserver`. */
  uri: z.string().default(''),
  /** The name of the machine, from the operator or a driver. */
  environmentId: z.string().default(''),
  /** False: the node waits until it is added over REST. */
  joins: z.boolean().default(true),
  status: z.enum(['running', 'draining']),
  /** The deadline of the drain, UTC ms; null without one. */
  drainDeadline: z.number().nullable().default(null),
  /** Utilization of the machine's processors, 0–100. */
  cpuLoad: z.number().min(0).max(100),
  memoryBytes: z.number().nonnegative(),
  /** The cost of its work and of the expected growth of its young rooms by the table COST, percent of one core. */
  committed: z.number().nonnegative().default(0),
  /** The number of rooms opened since the start, so that a master knows which of its placements `committed` includes. */
  roomsOpened: z.number().int().nonnegative().default(0),
  jobs: z.array(RunningJob).default([]),
  slots: z.object({ recording: Slots, speechToText: Slots.optional() }).optional(),
  /** The language models in the slots for speech to text. */
  languageModels: z.array(LanguageModelState).default([]),
  /** Workers that accept rooms: none while they crash repeatedly. */
  workers: z.number().int().nonnegative(),
  rooms: z.number().int().nonnegative(),
  connections: z.number().int().nonnegative(),
  streams: z.number().int().nonnegative(),
  consumers: z.number().int().nonnegative(),
  /** Cameras on the network, whether they are being read or not. */
  cameras: z.number().int().nonnegative().default(0),
  videoFilters: z.number().int().nonnegative().default(0),
  audioFilters: z.number().int().nonnegative().default(0),
  /** Videos that are being encoded for clients that cannot decode the published codec. */
  transcodings: z.number().int().nonnegative().default(0),
})
export type Heartbeat = z.infer<typeof Heartbeat>
