import { z } from 'zod'
import { optional, text } from '../optional.js'
import { SessionView } from './session.js'

export const MediaNodeStatus = z.enum([
  'launching',
  'canceled',
  'failed',
  'running',
  'waiting-idle-to-terminate',
  'terminating',
  'terminated',
])
export type MediaNodeStatus = z.infer<typeof MediaNodeStatus>

/** What a media node really runs. The first four members are the lineage's. */
export const MediaserverInfo = z.object({
  /** Resident memory of the process and its workers, KiB. */
  memory: z.number(),
  /** Of the media node, semver. */
  version: z.string(),
  capabilities: z.array(z.string()),
  modules: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      generationTime: z.string(),
      factories: z.array(z.string()),
    }),
  ),
  workers: z.array(
    z.object({
      pid: z.number().int(),
      /** UDP and TCP. */
      port: z.number().int(),
      rooms: z.number().int(),
      consumers: z.number().int(),
      /** Resident memory, KiB. */
      memory: z.number(),
    }),
  ),
  /** MIME types that routers take. */
  codecs: z.array(z.string()),
  /** What jobs it may run beside media, by kind. */
  slots: z.record(z.string(), z.object({ used: z.number().int(), total: z.number().int() })),
})
export type MediaserverInfo = z.infer<typeof MediaserverInfo>

/** Times in UTC ms. During launch most members are missing. */
export const MediaNodeView = z.object({
  id: z.string(),
  object: z.literal('mediaNode'),
  environmentId: z.string().optional(),
  ip: z.string().optional(),
  uri: z.string().optional(),
  launchingTime: z.number(),
  connected: z.boolean(),
  connectionTime: z.number().optional(),
  /** Only while it is not connected. */
  disconnectionTime: z.number().optional(),
  /** Share of the machine's processors in use, 0.00–100.00. */
  load: z.number(),
  status: MediaNodeStatus,
  /** While it is on its way out: when it ends whatever it holds; absent without a deadline. */
  drainDeadline: z.number().optional(),
  /** While it is on its way out: what it still waits for. */
  remaining: z.object({ sessions: z.number().int(), recordings: z.number().int() }).optional(),
  /** With `sessions=true`. */
  sessions: z.array(SessionView).optional(),
  /** With `recordings=true`. */
  recordingIds: z.array(z.string()).optional(),
  broadcasts: z.array(z.string()).optional(),
  /** With `extra-info=true`. */
  mediaserverInfo: MediaserverInfo.optional(),
})
export type MediaNodeView = z.infer<typeof MediaNodeView>
export const MediaNodeListView = z.object({ numberOfElements: z.number(), content: z.array(MediaNodeView) })
export type MediaNodeListView = z.infer<typeof MediaNodeListView>

/** On premises `uri` is mandatory; elsewhere it is ignored. */
export const AddMediaNodeBody = z.object({
  uri: optional(text(2_048)),
  environmentId: optional(text(255)),
  instanceType: optional(text(255)),
  /** GB. */
  volumeSize: optional(z.number().int().positive()),
})
export type AddMediaNodeBody = z.infer<typeof AddMediaNodeBody>

export const UpdateMediaNodeBody = z.object({ status: MediaNodeStatus })
export type UpdateMediaNodeBody = z.infer<typeof UpdateMediaNodeBody>

export const DeletionStrategy = z.enum(['if-no-sessions', 'when-no-sessions', 'now'])
export type DeletionStrategy = z.infer<typeof DeletionStrategy>
