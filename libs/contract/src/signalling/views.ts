import { z } from 'zod'
import { NetworkQualityLevel } from '../network-quality.js'
import { CameraStatus, MediaOptions, Role } from '../participants/members.js'

/** A published stream in the clients' view. Times in UTC ms. */
export const StreamInfo = z.object({
  streamId: z.string(),
  connectionId: z.string(),
  createdAt: z.number(),
  mediaOptions: MediaOptions,
})
export type StreamInfo = z.infer<typeof StreamInfo>

/** A participant in the clients' view. */
export const ConnectionInfo = z.object({
  connectionId: z.string(),
  createdAt: z.number(),
  role: Role.nullable(),
  clientData: z.string(),
  serverData: z.string(),
  /** Only for a camera on the network: its state, and the cause of its last failure. */
  cameraStatus: CameraStatus.optional(),
  cameraError: z.string().nullable().optional(),
  /** The level of a publisher, once it is measured. */
  networkQuality: NetworkQualityLevel.optional(),
})
export type ConnectionInfo = z.infer<typeof ConnectionInfo>

/** A running recording in the clients' view. */
export const RecordingInfo = z.object({ id: z.string(), name: z.string() })
export type RecordingInfo = z.infer<typeof RecordingInfo>

/** The connections and streams of the session, including those of the receiving client. */
export const SessionSnapshot = z.object({
  connections: z.array(ConnectionInfo),
  streams: z.array(StreamInfo),
  /** The running recordings, for roles that are notified of them; after `resume` and an outage of the bus empty for others. */
  recordings: z.array(RecordingInfo).optional(),
  /** A newer epoch than at joining means that the previous media is lost; `rejoin` creates the new one. */
  mediaEpoch: z.number().int().nonnegative(),
})
export type SessionSnapshot = z.infer<typeof SessionSnapshot>
