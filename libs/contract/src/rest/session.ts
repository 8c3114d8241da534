import { z } from 'zod'
import { optional, text, withDefault } from '../optional.js'
import { ConnectionView } from './connection.js'
import { CustomLayout, RecordingLayout, RecordingProperties, RecordingPropertiesView } from './recording.js'

export const MediaMode = z.enum(['ROUTED', 'RELAYED'])
export const RecordingMode = z.enum(['ALWAYS', 'MANUAL'])
/** The codecs of the interface, and two more that existing client SDKs send. */
export const ForcedVideoCodec = z.enum(['VP8', 'H264', 'NONE', 'VP9', 'MEDIA_SERVER_PREFERRED'])
export type ForcedVideoCodec = z.infer<typeof ForcedVideoCodec>

const CUSTOM_SESSION_ID_MAX_LENGTH = 128
export const CustomSessionId = z
  .string()
  .regex(/^[0-9a-zA-Z_-]*$/, 'may hold only letters, digits, "-" and "_"')
  .max(CUSTOM_SESSION_ID_MAX_LENGTH)

/** Accepts `{id}` and the plain string that some client SDKs send. */
export const MediaNodeRef = z.union([text(200).transform((id) => ({ id })), z.object({ id: text(200) })])

const Limit = z.int().min(0).max(2_147_483_647)

export const CreateSessionBody = z.object({
  mediaMode: withDefault(MediaMode, 'ROUTED').describe('Only ROUTED sessions can be recorded'),
  recordingMode: withDefault(RecordingMode, 'MANUAL').describe(
    'ALWAYS records from the first published stream to the last participant',
  ),
  customSessionId: withDefault(CustomSessionId, '').describe('Identifier to use; empty or absent gives a random one'),
  forcedVideoCodec: optional(ForcedVideoCodec).describe(
    'The video codec of all clients; absent takes SERVICE_STREAMS_FORCED_VIDEO_CODEC',
  ),
  allowTranscoding: optional(z.boolean()).describe(
    'Whether the video of clients that cannot send or receive `forcedVideoCodec` is transcoded; if false, they are refused to publish in another codec, and receive only audio of streams that they cannot decode. With `NONE` video is transcoded when needed. Absent takes SERVICE_STREAMS_ALLOW_TRANSCODING',
  ),
  defaultRecordingProperties: optional(RecordingProperties).describe('Defaults of the recordings of this session'),
  defaultOutputMode: optional(z.enum(['COMPOSED', 'INDIVIDUAL', 'COMPOSED_QUICK_START'])).describe(
    'Earlier form of `defaultRecordingProperties.outputMode`',
  ),
  defaultRecordingLayout: optional(RecordingLayout).describe(
    'Earlier form of `defaultRecordingProperties.recordingLayout`',
  ),
  defaultCustomLayout: optional(CustomLayout).describe('Earlier form of `defaultRecordingProperties.customLayout`'),
  mediaNode: optional(MediaNodeRef).describe('Media node that hosts the session; paid editions'),
  maxParticipants: optional(Limit).describe(
    'Extension: maximum number of participants; moderators, IP cameras and recorders do not count. Joins beyond it are refused. Absent, 0 or above SERVICE_SESSIONS_MAX_PARTICIPANTS: that property',
  ),
  maxStreamsPerParticipant: optional(Limit).describe(
    'Extension: maximum number of streams that a participant publishes at the same time. Absent, 0 or above SERVICE_SESSIONS_MAX_STREAMS: that property',
  ),
  maxDuration: optional(Limit).describe(
    'Extension: time in seconds after the first participant joined at which the session ends. Absent, 0 or above SERVICE_SESSIONS_MAX_DURATION: that property',
  ),
})
export type CreateSessionBody = z.output<typeof CreateSessionBody>

export const SessionView = z.object({
  id: z.string().describe('Identifier of the session'),
  object: z.literal('session').describe('Always `session`'),
  sessionId: z.string().describe('Same as `id`; older client SDKs read this name'),
  createdAt: z.number().describe('Time of creation, UTC ms'),
  mediaMode: MediaMode.describe('ROUTED or RELAYED'),
  recordingMode: RecordingMode.describe('ALWAYS or MANUAL'),
  defaultRecordingProperties: RecordingPropertiesView.describe('Defaults of the recordings of this session'),
  customSessionId: z.string().optional().describe('Present only if it was given at creation'),
  connections: z
    .object({ numberOfElements: z.number(), content: z.array(ConnectionView) })
    .describe('The active connections; with `pendingConnections=true` also the pending ones'),
  recording: z.boolean().describe('Whether the session is being recorded'),
  broadcasting: z.boolean().describe('Whether the session is being broadcast'),
  forcedVideoCodec: ForcedVideoCodec.describe('The video codec of all clients'),
  allowTranscoding: z.boolean().describe('Whether clients that cannot use the video codec get transcoded video'),
  mediaNodeId: z
    .string()
    .optional()
    .describe('Media node that hosts the session; absent before the first participant joins'),
  mediaNode: z
    .object({ id: z.string() })
    .optional()
    .describe('Media node that was forced at creation; older client SDKs read this name'),
  maxParticipants: z.number().optional().describe('Extension: maximum number of participants; absent without a limit'),
  maxStreamsPerParticipant: z
    .number()
    .optional()
    .describe('Extension: maximum number of streams of a participant; absent without a limit'),
  maxDuration: z
    .number()
    .optional()
    .describe('Extension: time in seconds after the first join at which the session ends; absent without a limit'),
})
export type SessionView = z.infer<typeof SessionView>

export const SessionListView = z.object({
  numberOfElements: z.number().describe('Number of all sessions'),
  content: z.array(SessionView).describe('The sessions'),
})
export type SessionListView = z.infer<typeof SessionListView>
