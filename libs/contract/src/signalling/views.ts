import { z } from 'zod'
import { MediaOptions, Role } from '../rest/connection.js'

/** A published stream as the other clients of the session see it. Times in UTC ms. */
export const StreamInfo = z.object({
  streamId: z.string(),
  connectionId: z.string(),
  createdAt: z.number(),
  mediaOptions: MediaOptions,
})
export type StreamInfo = z.infer<typeof StreamInfo>

/** A participant as the other clients of the session see it. */
export const ConnectionInfo = z.object({
  connectionId: z.string(),
  createdAt: z.number(),
  role: Role.nullable(),
  clientData: z.string(),
  serverData: z.string(),
})
export type ConnectionInfo = z.infer<typeof ConnectionInfo>

/** A running recording, as clients are told of it. */
export const RecordingInfo = z.object({ id: z.string(), name: z.string() })
export type RecordingInfo = z.infer<typeof RecordingInfo>

/** Who is there and what they publish; the receiver itself is in it. */
export const SessionSnapshot = z.object({
  connections: z.array(ConnectionInfo),
  streams: z.array(StreamInfo),
  /** What is being recorded, to those who are told of recordings. */
  recordings: z.array(RecordingInfo).optional(),
  /** Newer than the one joined with: the media of before is gone, and `rejoin` brings the new one. */
  mediaEpoch: z.number().int().nonnegative(),
})
export type SessionSnapshot = z.infer<typeof SessionSnapshot>
