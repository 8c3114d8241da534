import { z } from 'zod'
import { NativeProgram } from '../native-program/native-program.js'

export const CAMERA_CAUSES = [
  'unauthorized',
  'not-found',
  'timeout',
  'unreachable',
  'dns',
  'tls',
  'unsupported',
  'forbidden-address',
  'failed',
] as const
export type CameraCause = (typeof CAMERA_CAUSES)[number]

const Index = z.number().int()

/** The events of `apps/media-node/camera`, one per line. */
export const CameraEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('ready') }),
  /** The camera has this stream, which waits for `send` or `refuse`. `copied`: it is sent without encoding. */
  z.object({
    event: z.literal('stream'),
    index: Index,
    kind: z.enum(['audio', 'video']),
    codec: z.string(),
    copied: z.boolean(),
  }),
  /** The streams are known: at most one of each kind. One that begins very late follows. */
  z.object({ event: z.literal('streams'), count: z.number().int() }),
  /** The first packet of a stream was sent. */
  z.object({ event: z.literal('media'), index: Index }),
  /** Each second before that: the camera has sent no key frame yet. */
  z.object({ event: z.literal('waiting'), index: Index }),
  /** Each second: the live packets since the start, and by layer the sequence number of the last packet. */
  z.object({
    event: z.literal('sent'),
    index: Index,
    sequences: z.array(z.number().int()).min(1),
    packets: z.number().int(),
    bytes: z.number().int(),
  }),
  /** A burst on this layer is up to date, after these pictures; 0: there was nothing to send. */
  z.object({
    event: z.literal('burst'),
    index: Index,
    layer: z.number().int(),
    pictures: z.number().int(),
    bytes: z.number().int(),
  }),
  /** Pictures of a copied video are out of order (B-frames): from now on it is encoded. */
  z.object({ event: z.literal('reordered'), index: Index }),
  /** The camera has ended the streams. */
  z.object({ event: z.literal('ended') }),
  /** `codec`: of a video that would have to be encoded, although `copiesVideo`. */
  z.object({
    event: z.literal('error'),
    cause: z.enum(CAMERA_CAUSES),
    message: z.string(),
    codec: z.string().optional(),
  }),
])
export type CameraEvent = z.infer<typeof CameraEvent>

/** Where and as whom to read a camera. */
export interface CameraAddress {
  /** Without credentials. */
  uri: string
  /** The IP addresses of its host; empty for files. */
  hosts: readonly string[]
  user: string
  password: string
  transport: 'tcp' | 'udp' | 'auto'
  /** A camera that sends nothing for this long has failed, ms. */
  timeoutMs: number
  /** The delay that evens out an unsteady network, ms. */
  cacheMs: number
  /** Networks, such as `127.0.0.1/32`, that it may reach although they are forbidden by default. */
  allow: readonly string[]
  /** The folder of files that `file:` may name; absent: none. */
  files?: string
  /** Certificates of the camera: checked with the authorities in this file, or `all`. Absent: those of the system. */
  trust?: string
  /** No video is encoded: one that needs it is an error. */
  copiesVideo?: boolean
}

/** Where the packets of a stream go. */
export interface CameraOutput {
  /** On loopback. */
  port: number
  /** Packets leave from here; 0: any port. */
  sourcePort: number
  payloadType: number
  /** The live stream, or the layers that `camera.h` describes. */
  layers: readonly {
    ssrc: number
    /** One above the last of a former program that sent with this SSRC. */
    firstSequence: number
  }[]
}

/** The native program that reads a camera; `camera/camera.h` describes its commands and events. */
export class CameraProgram extends NativeProgram<CameraEvent> {
  constructor(program: string, onEvent: (event: CameraEvent) => void) {
    super(program, CameraEvent, onEvent)
  }

  /** `stream` follows for each stream of the camera, then `streams`; or `error`. */
  open({ uri, user, password, transport, timeoutMs, cacheMs, allow, files, trust, copiesVideo }: CameraAddress): void {
    for (const network of allow) this.command('allow', network)
    if (files !== undefined) this.command('files', files)
    if (trust !== undefined) this.command('trust', trust)
    if (copiesVideo) this.command('copy-video')
    this.command('open', uri, user, password, transport, timeoutMs, cacheMs)
  }

  send(index: number, { port, sourcePort, payloadType, layers }: CameraOutput): void {
    const words = layers.flatMap(({ ssrc, firstSequence }) => [ssrc, firstSequence])
    this.command('send', index, port, sourcePort, payloadType, ...words)
  }

  /** The stream is not wanted. */
  refuse(index: number): void {
    this.command('refuse', index)
  }

  /** Sends the pictures since the last key frame on a lane, and then the live ones, until `rest`. `burst` follows. */
  burst(index: number, layer: number): void {
    this.command('burst', index, layer)
  }

  rest(index: number, layer: number): void {
    this.command('rest', index, layer)
  }
}
