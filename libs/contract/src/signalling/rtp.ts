import { z } from 'zod'

/**
 * The parameters that browsers and mediasoup exchange, validated before they reach a worker.
 * Shapes: mediasoup's RtpParameters, RtpCapabilities, DtlsParameters, IceParameters and IceCandidate.
 */
export const MediaKind = z.enum(['audio', 'video'])
export type MediaKind = z.infer<typeof MediaKind>

const u32 = z.number().int().min(0).max(0xffff_ffff)
const payloadType = z.number().int().min(0).max(127)
const MimeType = z.string().regex(/^(audio|video)\/[\w.+-]{1,64}$/i)
const CodecParameter = z.union([z.string(), z.number(), z.boolean(), z.null()])
/** Codecs of browsers have fewer than ten parameters. */
const MOST_PARAMETERS = 64
/** Their number is checked first: each invalid parameter is an issue. */
const CodecParameters = z
  .custom<Record<string, z.infer<typeof CodecParameter>>>(
    (value) => typeof value !== 'object' || value === null || Object.keys(value).length <= MOST_PARAMETERS,
    `must have at most ${MOST_PARAMETERS} members`,
  )
  .pipe(z.record(z.string(), CodecParameter))
const RtcpFeedback = z.object({ type: z.string().max(32), parameter: z.string().max(64).optional() })

const RtpEncoding = z.object({
  ssrc: u32.optional(),
  rid: z
    .string()
    .regex(/^[\w-]{1,32}$/)
    .optional(),
  codecPayloadType: payloadType.optional(),
  rtx: z.object({ ssrc: u32 }).optional(),
  dtx: z.boolean().optional(),
  scalabilityMode: z.string().max(32).optional(),
  scaleResolutionDownBy: z.number().positive().optional(),
  maxBitrate: z.number().nonnegative().optional(),
})

export const RtpParameters = z.object({
  mid: z.string().max(32).optional(),
  msid: z.string().max(128).optional(),
  codecs: z
    .array(
      z.object({
        mimeType: MimeType,
        payloadType,
        clockRate: z.number().int().positive(),
        channels: z.number().int().positive().optional(),
        parameters: CodecParameters.optional(),
        rtcpFeedback: z.array(RtcpFeedback).max(32).optional(),
      }),
    )
    .min(1)
    .max(32),
  headerExtensions: z
    .array(
      z.object({
        uri: z.string().max(256),
        id: z.number().int().min(1).max(255),
        encrypt: z.boolean().optional(),
        parameters: CodecParameters.optional(),
      }),
    )
    .max(32)
    .optional(),
  encodings: z.array(RtpEncoding).min(1).max(8),
  rtcp: z
    .object({ cname: z.string().max(255).optional(), reducedSize: z.boolean().optional(), mux: z.boolean().optional() })
    .optional(),
})
export type RtpParameters = z.infer<typeof RtpParameters>

export const RtpCapabilities = z.object({
  codecs: z
    .array(
      z.object({
        kind: MediaKind,
        mimeType: MimeType,
        preferredPayloadType: payloadType,
        clockRate: z.number().int().positive(),
        channels: z.number().int().positive().optional(),
        parameters: CodecParameters.optional(),
        rtcpFeedback: z.array(RtcpFeedback).max(32).optional(),
      }),
    )
    .max(64),
  headerExtensions: z
    .array(
      z.object({
        kind: MediaKind,
        uri: z.string().max(256),
        preferredId: z.number().int().min(1).max(255),
        preferredEncrypt: z.boolean().optional(),
        direction: z.enum(['sendrecv', 'sendonly', 'recvonly', 'inactive']).optional(),
      }),
    )
    .max(64),
})
export type RtpCapabilities = z.infer<typeof RtpCapabilities>

export const DtlsParameters = z.object({
  role: z.enum(['auto', 'client', 'server']).optional(),
  fingerprints: z
    .array(
      z.object({
        algorithm: z.enum(['sha-1', 'sha-224', 'sha-256', 'sha-384', 'sha-512']),
        value: z.string().regex(/^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){19,63}$/),
      }),
    )
    .min(1)
    .max(8),
})
export type DtlsParameters = z.infer<typeof DtlsParameters>

export const IceParameters = z.object({
  usernameFragment: z.string(),
  password: z.string(),
  iceLite: z.boolean().optional(),
})
export type IceParameters = z.infer<typeof IceParameters>

const IceCandidate = z.object({
  foundation: z.string(),
  priority: z.number(),
  ip: z.string(),
  address: z.string(),
  protocol: z.enum(['udp', 'tcp']),
  port: z.number(),
  type: z.enum(['host', 'srflx', 'prflx', 'relay']),
  tcpType: z.enum(['active', 'passive', 'so']).optional(),
})

/** Everything a client needs to create its end of a transport. */
export const TransportOptions = z.object({
  id: z.string(),
  iceParameters: IceParameters,
  iceCandidates: z.array(IceCandidate),
  dtlsParameters: DtlsParameters,
})
export type TransportOptions = z.infer<typeof TransportOptions>

export const TransportDirection = z.enum(['send', 'recv'])
export type TransportDirection = z.infer<typeof TransportDirection>

/** A track that a publisher offers. */
export const PublishedTrack = z.object({ kind: MediaKind, rtpParameters: RtpParameters })
export type PublishedTrack = z.infer<typeof PublishedTrack>

/** A track from a client: each codec must match the kind of the track. */
export const OfferedTrack = PublishedTrack.superRefine(({ kind, rtpParameters: { codecs } }, context) => {
  for (const [index, { mimeType }] of codecs.entries()) {
    if (mimeType.toLowerCase().startsWith(`${kind}/`)) continue
    const path = ['rtpParameters', 'codecs', index, 'mimeType']
    context.addIssue({ code: 'custom', path, message: `must be a codec of kind ${kind}, not ${mimeType}` })
  }
})

/** A track for a subscriber; a `paused` track waits for `changeSubscription`. */
export const SubscribedTrack = z.object({
  id: z.string(),
  producerId: z.string(),
  kind: MediaKind,
  rtpParameters: RtpParameters,
  paused: z.boolean(),
})
export type SubscribedTrack = z.infer<typeof SubscribedTrack>

/** The maximum of each simulcast layer, smallest first, kbps; 0 = the layer is not sent. */
export const LayerKbps = z.array(z.number().int().nonnegative()).min(1).max(8)
export type LayerKbps = z.infer<typeof LayerKbps>

/** Simulcast layers, 0 the smallest. */
export const Layers = z.object({
  spatialLayer: z.number().int().min(0).max(7),
  temporalLayer: z.number().int().min(0).max(7).optional(),
})
export type Layers = z.infer<typeof Layers>
