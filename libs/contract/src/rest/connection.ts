import { z } from 'zod'
import { optional, text, withDefault } from '../optional.js'
import { CameraStatus, DATA_MAX_LENGTH, IceServerView, MediaOptions, Role } from '../participants/members.js'

export const ConnectionType = z.enum(['WEBRTC', 'IPCAM'])
export const ConnectionStatus = z.enum(['pending', 'active'])

const kbps = optional(z.number().int().nonnegative())

/** Limits, kbps; 0 means unconstrained, absent means the global property. */
export const MediaserverOptions = z.object({
  videoMaxRecvBandwidth: kbps.describe(
    'Highest bandwidth of each video the connection receives, kbps; 0 is unconstrained, absent takes SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH',
  ),
  videoMinRecvBandwidth: kbps.describe(
    'Lowest bandwidth of each video the connection receives, kbps; 0 is unconstrained, absent takes SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH',
  ),
  videoMaxSendBandwidth: kbps.describe(
    'Highest bandwidth of each video the connection publishes, kbps; 0 is unconstrained, absent takes SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH',
  ),
  videoMinSendBandwidth: kbps.describe(
    'Lowest bandwidth of each video the connection publishes, kbps; 0 is unconstrained, absent takes SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH',
  ),
  allowedFilters: optional(z.array(text(256)).max(64)).describe(
    'Types of the filters that a PUBLISHER may apply to its own streams, such as `BlurFilter`; unknown names have no effect',
  ),
})
export type MediaserverOptions = z.output<typeof MediaserverOptions>

const HOST = String.raw`(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)`
/** 1 to 65535. */
const PORT = String.raw`(?::(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?`
const ICE_URL = new RegExp(String.raw`^(?:stuns?:${HOST}${PORT}|turns?:${HOST}${PORT}(?:\?transport=(?:udp|tcp))?)$`)

interface IceAccess {
  url: string
  username?: string | undefined
  credential?: string | undefined
  staticAuthSecret?: string | undefined
}

/** The members that are wrong, with the reason. */
function iceFaults({ url, username, credential, staticAuthSecret }: IceAccess): [keyof IceAccess, string][] {
  const isTurn = url.startsWith('turn')
  const given = { username, credential }
  const names = ['username', 'credential'] as const
  if (staticAuthSecret === undefined)
    return names.flatMap((name) => (isTurn && given[name] === undefined ? [[name, 'is mandatory for TURN']] : []))
  if (!isTurn) return [['staticAuthSecret', 'is for TURN only']]
  const isDouble = names.some((name) => given[name] !== undefined)
  return isDouble ? [['staticAuthSecret', 'replaces username and credential: set one or the other']] : []
}

export const IceServer = z
  .object({
    url: z
      .string()
      .regex(ICE_URL, 'must be a stun:, stuns:, turn: or turns: URL')
      .describe('A `stun:`, `stuns:`, `turn:` or `turns:` URL'),
    username: optional(text(1024).min(1)).describe('Mandatory for TURN without `staticAuthSecret`'),
    credential: optional(text(1024).min(1)).describe('Mandatory for TURN without `staticAuthSecret`'),
    staticAuthSecret: optional(text(1024).min(1)).describe(
      'Only for TURN, instead of `username` and `credential`: each client gets its own, derived from this secret',
    ),
  })
  .superRefine((server, context) => {
    for (const [field, message] of iceFaults(server)) context.addIssue({ code: 'custom', path: [field], message })
  })
export type IceServer = z.output<typeof IceServer>

/** The node that reads the camera checks its address. Permits no other protocol: media programs know many more. */
export const CameraUri = text(2048).regex(
  /^(?:(?:rtsps?|https?):\/\/[^\s/]|file:\/\/\/)[^\s\\\p{Cc}]*$/iu,
  'must be an rtsp, rtsps, http, https or file URI',
)

export const CreateConnectionBody = z
  .object({
    type: withDefault(ConnectionType, 'WEBRTC').describe('A regular participant or an IP camera'),
    data: withDefault(text(DATA_MAX_LENGTH), '').describe('Metadata, becomes `serverData`'),
    record: withDefault(z.boolean(), true).describe(
      'Whether streams of the connection are recorded by INDIVIDUAL recordings; paid editions',
    ),
    role: withDefault(Role, 'PUBLISHER').describe(
      'SUBSCRIBER receives; PUBLISHER also publishes; MODERATOR also evicts and unpublishes others. Only for WEBRTC',
    ),
    mediaserverOptions: optional(MediaserverOptions).describe(
      'Bandwidth limits that override the global properties. Only for WEBRTC',
    ),
    customIceServers: withDefault(z.array(IceServer).max(16), []).describe(
      'Replace the STUN and TURN servers of the service. TURN needs `username` and `credential`, or `staticAuthSecret`, which clients do not get: each gets credentials that expire after `TURN_CREDENTIALS_TTL`. Only for WEBRTC',
    ),
    rtspUri: optional(CameraUri).describe(
      'Address of the camera: an rtsp, rtsps, http, https or file URI; mandatory for IPCAM',
    ),
    adaptativeBitrate: withDefault(z.boolean(), true).describe(
      'Only for IPCAM. true: subscribers whose receive limit or network is too small for the camera get a smaller video, which is encoded only while one of them needs it. false: the video is never encoded, which saves CPU; a camera whose video browsers cannot play is refused with 500',
    ),
    onlyPlayWithSubscribers: withDefault(z.boolean(), true).describe(
      'Whether the camera is read only while a subscriber receives it. Only for IPCAM',
    ),
    networkCache: withDefault(z.number().int().min(0).max(60_000), 2000).describe(
      'Buffer of the camera, ms. Only for IPCAM',
    ),
  })
  .refine(({ type, rtspUri }) => type === 'WEBRTC' || rtspUri !== undefined, {
    path: ['rtspUri'],
    message: 'is mandatory when type is IPCAM',
  })
export type CreateConnectionBody = z.output<typeof CreateConnectionBody>

/** Absent members stay unchanged. */
export const UpdateConnectionBody = z.object({
  role: optional(Role).describe('The new role'),
  record: optional(z.boolean()).describe('Whether INDIVIDUAL recordings include the streams of the connection'),
})
export type UpdateConnectionBody = z.output<typeof UpdateConnectionBody>

/**
 * With `webRtcStats=true`. Null where a media node does not have it: its transports use no SDP and need no candidates of
 * clients. Without a transport, or without an answer of the media node, everything is null.
 */
const EndpointView = z.object({
  webrtcEndpointName: z.string().nullable().describe('Identifier of the transport'),
  localCandidate: z.string().nullable().describe('Candidate of the media node in use; null until it is connected'),
  remoteCandidate: z.string().nullable().describe('Candidate of the client in use; null until it is connected'),
  serverIceCandidates: z.array(z.string()).nullable().describe('Candidates that the media node offers'),
  clientIceCandidates: z.array(z.string()).nullable().describe('Always null: media nodes do not need them'),
  localSdp: z.string().nullable().describe('Always null: media nodes use no SDP'),
  remoteSdp: z.string().nullable().describe('Always null: media nodes use no SDP'),
  events: z.array(z.object({})).nullable().describe('Always null: media nodes keep no events of transports'),
})
export type EndpointView = z.infer<typeof EndpointView>

export const PublisherView = z.object({
  streamId: z.string().describe('Identifier of the stream'),
  createdAt: z.number().describe('Time of publication, UTC ms'),
  rtspUri: z.string().optional().describe('Only for IPCAM: address of the camera'),
  mediaOptions: MediaOptions.describe('Current properties of the stream'),
  ...EndpointView.partial().shape,
})
export type PublisherView = z.infer<typeof PublisherView>
export const SubscriberView = z.object({
  streamId: z.string().describe('The subscribed stream, published by another connection'),
  createdAt: z.number().describe('Time of the subscription, UTC ms'),
  publisher: z.string().optional().describe('With `webRtcStats=true`: the connection that publishes the stream'),
  ...EndpointView.partial().shape,
})
export type SubscriberView = z.infer<typeof SubscriberView>

/** Members that do not apply to the type or status are null. */
export const ConnectionView = z.object({
  id: z.string().describe('Identifier of the connection'),
  object: z.literal('connection').describe('Always `connection`'),
  connectionId: z.string().describe('Same as `id`; older client SDKs read this name'),
  type: ConnectionType.describe('WEBRTC or IPCAM'),
  status: ConnectionStatus.describe('`pending` until a client takes the token, then `active`'),
  sessionId: z.string().describe('The session of the connection'),
  createdAt: z.number().describe('Time of creation, UTC ms'),
  activeAt: z.number().nullable().describe('Time at which a client took the token, UTC ms; null while pending'),
  location: z.string().nullable().describe('Geographic location of the participant; paid editions'),
  ip: z.string().nullable().describe('IP address of the participant'),
  platform: z.string().nullable().describe('Platform of the participant; `IPCAM` for cameras'),
  token: z.string().nullable().describe('Lets one client join, once; null for IPCAM'),
  serverData: z.string().describe('`data` given at creation'),
  clientData: z
    .string()
    .nullable()
    .describe('Metadata given by the client when it joined; null while pending and for IPCAM'),
  record: z.boolean().describe('Whether INDIVIDUAL recordings include the streams of the connection'),
  role: Role.nullable().describe('Role of the participant; null for IPCAM'),
  mediaserverOptions: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('Bandwidth limits of the connection; null for IPCAM'),
  customIceServers: z.array(IceServerView).nullable().describe('ICE servers given at creation; null for IPCAM'),
  rtspUri: z.string().nullable().describe('RTSP address of the camera; null for WEBRTC'),
  adaptativeBitrate: z
    .boolean()
    .nullable()
    .describe('Whether constrained subscribers get a smaller video; null for WEBRTC'),
  onlyPlayWithSubscribers: z
    .boolean()
    .nullable()
    .describe('Whether the camera is read only with subscribers; null for WEBRTC'),
  networkCache: z.number().nullable().describe('Buffer of the camera, ms; null for WEBRTC'),
  cameraStatus: CameraStatus.nullable().describe('Whether the camera is read at present; null for WEBRTC'),
  cameraError: z
    .string()
    .nullable()
    .describe('Cause of the last failure of the camera; null while it works, and for WEBRTC'),
  publishers: z.array(PublisherView).nullable().describe('Streams the connection publishes'),
  subscribers: z.array(SubscriberView).nullable().describe('Streams the connection receives'),
})
export type ConnectionView = z.infer<typeof ConnectionView>

export const ConnectionListView = z.object({
  numberOfElements: z.number().describe('Number of the connections'),
  content: z.array(ConnectionView).describe('The connections'),
})
export type ConnectionListView = z.infer<typeof ConnectionListView>
