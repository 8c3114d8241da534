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

/** Details of a media node. Existing clients know the first four members. */
export const MediaserverInfo = z.object({
  memory: z.number().describe('Resident memory of the process and its workers, KiB'),
  version: z.string().describe('Version of the media node'),
  capabilities: z.array(z.string()).describe('Features of the media server'),
  modules: z
    .array(
      z.object({
        name: z.string(),
        version: z.string(),
        generationTime: z.string(),
        factories: z.array(z.string()),
      }),
    )
    .describe('Modules of the media server'),
  workers: z
    .array(
      z.object({
        pid: z.number().int(),
        /** The port for UDP and TCP. */
        port: z.number().int(),
        rooms: z.number().int(),
        consumers: z.number().int(),
        /** Resident memory, KiB. */
        memory: z.number(),
      }),
    )
    .describe('Workers of the media server'),
  codecs: z.array(z.string()).describe('MIME types that routers take'),
  slots: z
    .record(z.string(), z.object({ used: z.number().int(), total: z.number().int() }))
    .describe('Jobs that may run beside media, by kind'),
})
export type MediaserverInfo = z.infer<typeof MediaserverInfo>

/** After repeated crashes of a media node, sessions are placed on other nodes. */
export const PlacementBackOff = z.object({
  crashes: z.number().int().describe('Crashes in a row'),
  until: z.number().describe('Time until which other nodes are preferred, UTC ms'),
})
export type PlacementBackOff = z.infer<typeof PlacementBackOff>

/** A language model in a process of a media node. */
export const LanguageModelView = z.object({
  lang: z.string().describe('Language model'),
  status: z.enum(['loading', 'loaded']).describe('Whether it can be used yet'),
  streams: z.number().int().describe('Streams whose speech it recognizes'),
  memory: z.number().int().describe('Resident memory of its process, KiB; 0 while it is loading'),
})
export type LanguageModelView = z.infer<typeof LanguageModelView>

/** Times in UTC ms. During launch most members are missing. */
export const MediaNodeView = z.object({
  id: z.string().describe('Identifier, used by the operations on the node'),
  object: z.literal('mediaNode').describe('Always `mediaNode`'),
  environmentId: z.string().optional().describe('Identifier in the environment that runs the node'),
  ip: z.string().optional().describe('IP address of the node'),
  uri: z.string().optional().describe('Address of the node as the cluster names it'),
  launchingTime: z.number().describe('Time of launch, UTC ms'),
  connected: z.boolean().describe('Whether a master receives its heartbeats'),
  connectionTime: z.number().optional().describe('Time of registration, UTC ms'),
  disconnectionTime: z.number().optional().describe('Time of the loss, UTC ms; only while not connected'),
  load: z.number().describe('Share of the processors of the machine in use, 0.00 to 100.00'),
  status: MediaNodeStatus.describe('State of the node'),
  statusReason: z
    .string()
    .optional()
    .describe(
      'Why the environment has not started the node yet, could not start it, or ends it; only if it reports one',
    ),
  backOff: PlacementBackOff.optional().describe('Only while placement on the node is backed off'),
  drainDeadline: z.number().optional().describe('Time at which a draining node ends at the latest, UTC ms'),
  remaining: z
    .object({
      sessions: z.number().int(),
      recordings: z.number().int(),
    })
    .optional()
    .describe('Sessions and recordings that a draining node waits for'),
  sessions: z.array(SessionView).optional().describe('Sessions on the node, with `sessions=true`'),
  recordingIds: z.array(z.string()).optional().describe('Recordings on the node, with `recordings=true`'),
  broadcasts: z.array(z.string()).optional().describe('Broadcasts on the node, with `recordings=true`'),
  languageModels: z
    .array(LanguageModelView)
    .optional()
    .describe('Language models of a connected node, by its last heartbeat; only while speech to text is enabled'),
  mediaserverInfo: MediaserverInfo.optional().describe('Details of the media server, with `extra-info=true`'),
})
export type MediaNodeView = z.infer<typeof MediaNodeView>
export const MediaNodeListView = z.object({
  numberOfElements: z.number().describe('Number of all media nodes'),
  content: z.array(MediaNodeView).describe('The media nodes'),
})
export type MediaNodeListView = z.infer<typeof MediaNodeListView>

/** On premises `uri` is mandatory; elsewhere it is ignored. */
export const AddMediaNodeBody = z.object({
  uri: optional(text(2_048)).describe('Address of a running node; mandatory on premises, ignored elsewhere'),
  environmentId: optional(text(255)).describe('Identifier of the node in its environment'),
  instanceType: optional(text(255)).describe('Kind of machine, where the environment launches one'),
  volumeSize: optional(z.number().int().positive()).describe(
    'Disk of the machine in GB, where the environment launches one',
  ),
})
export type AddMediaNodeBody = z.infer<typeof AddMediaNodeBody>

export const UpdateMediaNodeBody = z.object({ status: MediaNodeStatus.describe('The state to go to') })
export type UpdateMediaNodeBody = z.infer<typeof UpdateMediaNodeBody>

export const DeletionStrategy = z.enum(['if-no-sessions', 'when-no-sessions', 'now'])
export type DeletionStrategy = z.infer<typeof DeletionStrategy>
