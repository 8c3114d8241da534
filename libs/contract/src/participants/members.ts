// Members that REST and signalling share. Pages load them with the client library, and not the schemas of REST.
import { z } from 'zod'
import { FilterView } from '../filters/filter.js'

export const Role = z.enum(['SUBSCRIBER', 'PUBLISHER', 'MODERATOR'])
export type Role = z.infer<typeof Role>

export const DATA_MAX_LENGTH = 65_536

/** The server in answers. A stored value is not validated again. */
export const IceServerView = z.object({
  url: z.string().describe('URL of the STUN or TURN server'),
  username: z.string().optional().describe('User name, for TURN'),
  credential: z.string().optional().describe('Password, for TURN'),
  staticAuthSecret: z
    .string()
    .optional()
    .describe('Secret that the TURN server shares with the service, instead of `username` and `credential`'),
})
export type IceServerView = z.infer<typeof IceServerView>

/**
 * `idle`: not read, since its stream has no receiver; `reconnecting`: failed, will be tried again as long as the
 * connection exists.
 */
export const CameraStatus = z.enum(['connecting', 'playing', 'idle', 'reconnecting'])
export type CameraStatus = z.infer<typeof CameraStatus>

export const TypeOfVideo = z.enum(['CAMERA', 'SCREEN', 'CUSTOM', 'IPCAM'])
export type TypeOfVideo = z.infer<typeof TypeOfVideo>

/** `audioActive` exists only with audio; the four members after `hasVideo` only with video. */
export const MediaOptions = z.object({
  hasAudio: z.boolean().describe('Whether the stream has an audio track'),
  audioActive: z.boolean().optional().describe('Whether the audio track is unmuted; absent without audio'),
  hasVideo: z.boolean().describe('Whether the stream has a video track'),
  videoActive: z.boolean().optional().describe('Whether the video track is unmuted; absent without video'),
  typeOfVideo: TypeOfVideo.optional().describe('Source of the video'),
  frameRate: z.number().nullable().optional().describe('Frames per second; null for cameras on the network'),
  videoDimensions: z
    .string()
    .nullable()
    .optional()
    .describe('JSON text of `{width, height}` in pixels; null for cameras on the network'),
  filter: FilterView.describe('Filter of the stream; empty without one'),
  adaptativeBitrate: z
    .boolean()
    .optional()
    .describe('Only for IPCAM: whether constrained subscribers get a smaller video'),
  onlyPlayWithSubscribers: z.boolean().optional().describe('Only for IPCAM: whether it is read only with subscribers'),
  networkCache: z.number().optional().describe('Only for IPCAM: buffer of the camera, ms'),
})
export type MediaOptions = z.infer<typeof MediaOptions>

/** Times in seconds from the begin of the sentence. */
export const SpokenWord = z.object({
  word: z.string(),
  start: z.number().describe('Seconds from the begin of the sentence'),
  end: z.number().describe('Seconds from the begin of the sentence'),
  confidence: z.number().optional().describe('0 to 1, where the engine knows it'),
})
export type SpokenWord = z.infer<typeof SpokenWord>
