import { z } from 'zod'
import { optional, text, withDefault } from '../optional.js'
import { ConnectionView } from './connection.js'
import { CustomLayout, RecordingLayout, RecordingProperties, RecordingPropertiesView } from './recording.js'

export const MediaMode = z.enum(['ROUTED', 'RELAYED'])
export const RecordingMode = z.enum(['ALWAYS', 'MANUAL'])
/** The contract's three, and the two more that client SDKs of the lineage send. */
export const ForcedVideoCodec = z.enum(['VP8', 'H264', 'NONE', 'VP9', 'MEDIA_SERVER_PREFERRED'])
export type ForcedVideoCodec = z.infer<typeof ForcedVideoCodec>

export const CUSTOM_SESSION_ID_MAX_LENGTH = 128
export const CustomSessionId = z
  .string()
  .regex(/^[0-9a-zA-Z_-]*$/, 'may hold only letters, digits, "-" and "_"')
  .max(CUSTOM_SESSION_ID_MAX_LENGTH)

/** `{id}`; the plain string that some client SDKs send is read as well. */
export const MediaNodeRef = z.union([text(200).transform((id) => ({ id })), z.object({ id: text(200) })])

export const CreateSessionBody = z.object({
  mediaMode: withDefault(MediaMode, 'ROUTED'),
  recordingMode: withDefault(RecordingMode, 'MANUAL'),
  customSessionId: withDefault(CustomSessionId, ''),
  /** Absent: the property SERVICE_STREAMS_FORCED_VIDEO_CODEC decides. */
  forcedVideoCodec: optional(ForcedVideoCodec),
  /** Absent: the property SERVICE_STREAMS_ALLOW_TRANSCODING decides. */
  allowTranscoding: optional(z.boolean()),
  defaultRecordingProperties: optional(RecordingProperties),
  defaultOutputMode: optional(z.enum(['COMPOSED', 'INDIVIDUAL', 'COMPOSED_QUICK_START'])),
  defaultRecordingLayout: optional(RecordingLayout),
  defaultCustomLayout: optional(CustomLayout),
  mediaNode: optional(MediaNodeRef),
})
export type CreateSessionBody = z.output<typeof CreateSessionBody>

export const SessionView = z.object({
  id: z.string(),
  object: z.literal('session'),
  /** Same as `id`: client SDKs of the lineage read this name. */
  sessionId: z.string(),
  createdAt: z.number(),
  mediaMode: MediaMode,
  recordingMode: RecordingMode,
  defaultRecordingProperties: RecordingPropertiesView,
  customSessionId: z.string().optional(),
  connections: z.object({ numberOfElements: z.number(), content: z.array(ConnectionView) }),
  recording: z.boolean(),
  broadcasting: z.boolean(),
  forcedVideoCodec: ForcedVideoCodec,
  allowTranscoding: z.boolean(),
  mediaNodeId: z.string().optional(),
  /** The node that was asked for, if one was: client SDKs of the lineage read it. */
  mediaNode: z.object({ id: z.string() }).optional(),
})
export type SessionView = z.infer<typeof SessionView>

export const SessionListView = z.object({ numberOfElements: z.number(), content: z.array(SessionView) })
export type SessionListView = z.infer<typeof SessionListView>
