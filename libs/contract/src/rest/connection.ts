import { z } from 'zod'
import { optional, text, withDefault } from '../optional.js'

export const ConnectionType = z.enum(['WEBRTC', 'IPCAM'])
export const ConnectionStatus = z.enum(['pending', 'active'])
export const Role = z.enum(['SUBSCRIBER', 'PUBLISHER', 'MODERATOR'])
export type Role = z.infer<typeof Role>

export const DATA_MAX_LENGTH = 65_536
const kbps = optional(z.number().int().nonnegative())

/** Limits in kbps; 0 means unconstrained, absent means the global property. */
export const MediaserverOptions = z.object({
  videoMaxRecvBandwidth: kbps,
  videoMinRecvBandwidth: kbps,
  videoMaxSendBandwidth: kbps,
  videoMinSendBandwidth: kbps,
  allowedFilters: optional(z.array(text(256)).max(64)),
})
export type MediaserverOptions = z.output<typeof MediaserverOptions>

const HOST = String.raw`(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)`
/** 1 to 65535. */
const PORT = String.raw`(?::(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?`
const ICE_URL = new RegExp(String.raw`^(?:stuns?:${HOST}${PORT}|turns?:${HOST}${PORT}(?:\?transport=(?:udp|tcp))?)$`)

export const IceServer = z
  .object({
    url: z.string().regex(ICE_URL, 'must be a stun:, stuns:, turn: or turns: URL'),
    username: optional(text(1024).min(1)),
    credential: optional(text(1024).min(1)),
  })
  .superRefine(({ url, username, credential }, context) => {
    const isTurn = url.startsWith('turn')
    for (const [field, value] of [
      ['username', username],
      ['credential', credential],
    ] as const) {
      if (isTurn && value === undefined)
        context.addIssue({ code: 'custom', path: [field], message: 'is mandatory for TURN' })
    }
  })
export type IceServer = z.output<typeof IceServer>

/** As it is shown and handed out: what was once accepted is not judged again. */
export const IceServerView = z.object({
  url: z.string(),
  username: z.string().optional(),
  credential: z.string().optional(),
})
export type IceServerView = z.infer<typeof IceServerView>

/** No other protocol: who reads the camera would read files and pages of the service's network as well. */
export const RtspUri = text(2048).regex(/^rtsps?:\/\/\S+$/, 'must be an RTSP URI')

export const CreateConnectionBody = z
  .object({
    type: withDefault(ConnectionType, 'WEBRTC'),
    data: withDefault(text(DATA_MAX_LENGTH), ''),
    record: withDefault(z.boolean(), true),
    role: withDefault(Role, 'PUBLISHER'),
    mediaserverOptions: optional(MediaserverOptions),
    customIceServers: withDefault(z.array(IceServer).max(16), []),
    rtspUri: optional(RtspUri),
    adaptativeBitrate: withDefault(z.boolean(), true),
    onlyPlayWithSubscribers: withDefault(z.boolean(), true),
    networkCache: withDefault(z.number().int().nonnegative(), 2000),
  })
  .refine(({ type, rtspUri }) => type === 'WEBRTC' || rtspUri !== undefined, {
    path: ['rtspUri'],
    message: 'is mandatory when type is IPCAM',
  })
export type CreateConnectionBody = z.output<typeof CreateConnectionBody>

/** Absent members stay as they are. */
export const UpdateConnectionBody = z.object({ role: optional(Role), record: optional(z.boolean()) })
export type UpdateConnectionBody = z.output<typeof UpdateConnectionBody>

export const TypeOfVideo = z.enum(['CAMERA', 'SCREEN', 'CUSTOM', 'IPCAM'])
export type TypeOfVideo = z.infer<typeof TypeOfVideo>

/** `audioActive` only with audio; the four after `hasVideo` only with video. */
export const MediaOptions = z.object({
  hasAudio: z.boolean(),
  audioActive: z.boolean().optional(),
  hasVideo: z.boolean(),
  videoActive: z.boolean().optional(),
  typeOfVideo: TypeOfVideo.optional(),
  frameRate: z.number().nullable().optional(),
  /** JSON text of `{width, height}`. */
  videoDimensions: z.string().nullable().optional(),
  filter: z.record(z.string(), z.unknown()),
})
export type MediaOptions = z.infer<typeof MediaOptions>

export const PublisherView = z.object({ streamId: z.string(), createdAt: z.number(), mediaOptions: MediaOptions })
export type PublisherView = z.infer<typeof PublisherView>
export const SubscriberView = z.object({ streamId: z.string(), createdAt: z.number() })
export type SubscriberView = z.infer<typeof SubscriberView>

/** What does not apply to the type or status is null. */
export const ConnectionView = z.object({
  id: z.string(),
  object: z.literal('connection'),
  /** Same as `id`: client SDKs of the lineage read this name. */
  connectionId: z.string(),
  type: ConnectionType,
  status: ConnectionStatus,
  sessionId: z.string(),
  createdAt: z.number(),
  activeAt: z.number().nullable(),
  location: z.string().nullable(),
  ip: z.string().nullable(),
  platform: z.string().nullable(),
  token: z.string().nullable(),
  serverData: z.string(),
  clientData: z.string().nullable(),
  record: z.boolean(),
  role: Role.nullable(),
  mediaserverOptions: z.record(z.string(), z.unknown()).nullable(),
  customIceServers: z.array(IceServerView).nullable(),
  rtspUri: z.string().nullable(),
  adaptativeBitrate: z.boolean().nullable(),
  onlyPlayWithSubscribers: z.boolean().nullable(),
  networkCache: z.number().nullable(),
  publishers: z.array(PublisherView).nullable(),
  subscribers: z.array(SubscriberView).nullable(),
})
export type ConnectionView = z.infer<typeof ConnectionView>

export const ConnectionListView = z.object({ numberOfElements: z.number(), content: z.array(ConnectionView) })
export type ConnectionListView = z.infer<typeof ConnectionListView>
