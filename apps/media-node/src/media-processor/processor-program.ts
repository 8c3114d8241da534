import { z } from 'zod'
import type { MediaKind } from '@session-service/contract'
import { NativeProgram } from '../native-program/native-program.js'

export const PROCESSOR_CAUSES = ['unsupported', 'filter', 'failed'] as const

const Kind = z.enum(['audio', 'video'])

/** The events of `apps/media-node/processor`, one per line. */
const ProcessorEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('ready') }),
  /** The input ports of a kind are open. */
  z.object({ event: z.literal('opened'), kind: Kind, rtp: z.number().int(), rtcp: z.number().int() }),
  z.object({ event: z.literal('started') }),
  /** The first packet was sent. */
  z.object({ event: z.literal('media'), kind: Kind }),
  /** Each second: what was sent since the start, and the sequence number of the last packet. */
  z.object({
    event: z.literal('sent'),
    kind: Kind,
    sequence: z.number().int(),
    packets: z.number().int(),
    bytes: z.number().int(),
  }),
  /** The input cannot be decoded without a key frame. */
  z.object({ event: z.literal('keyFrameWanted'), kind: Kind }),
  /** A message of an element of the filter. */
  z.object({ event: z.literal('filterEvent'), type: z.string(), data: z.unknown() }),
  /** Settings of the filter. */
  z.object({ event: z.literal('applied'), id: z.string() }),
  z.object({ event: z.literal('refused'), id: z.string(), message: z.string() }),
  z.object({ event: z.literal('error'), cause: z.enum(PROCESSOR_CAUSES), message: z.string() }),
])
export type ProcessorEvent = z.infer<typeof ProcessorEvent>

/** A track as it arrives: plain RTP with this payload type and SSRC. */
export interface ProcessorInput {
  kind: MediaKind
  /** The name in SDP: `VP8`, `H264`, `opus`. */
  codec: string
  payloadType: number
  clockRate: number
  channels?: number
  ssrc: number
  /** The id of the header extension `urn:3gpp:video-orientation`, by which phones turn their pictures. */
  orientationId?: number | undefined
}

/** The limits of an encoded video. */
export interface VideoLimits {
  maxKbps: number
  /** Larger pictures are scaled down. */
  maxPixels: number
}

/** How a track is encoded, and where its packets go. */
export interface ProcessorOutput {
  codec: 'VP8' | 'VP9' | 'H264' | 'opus'
  /** On loopback. */
  port: number
  /** Packets leave from here; 0: any port. */
  sourcePort: number
  ssrc: number
  payloadType: number
  /** One above the last of a former program that sent with this SSRC. */
  firstSequence: number
  maxKbps: number
  /** Larger pictures are scaled down. */
  maxPixels?: number
}

export interface ProcessorLeg {
  input: ProcessorInput
  output: ProcessorOutput
}

/** Names and values. */
type Settings = readonly (readonly [string, string | number | boolean])[]

/** The native program; `processor/processor.h` describes its commands and events. */
export class ProcessorProgram extends NativeProgram<ProcessorEvent> {
  constructor(program: string, onEvent: (event: ProcessorEvent) => void) {
    super(program, ProcessorEvent, onEvent)
  }

  addLeg({ input, output }: ProcessorLeg): void {
    const { kind, codec, payloadType, clockRate, channels = 1, ssrc, orientationId = 0 } = input
    const { port, sourcePort, firstSequence, maxKbps, maxPixels = 0 } = output
    const to = [output.codec, port, sourcePort, output.ssrc, output.payloadType, firstSequence, maxKbps, maxPixels]
    this.command('leg', kind, codec, payloadType, clockRate, channels, ssrc, ...to, orientationId)
  }

  /** Before `start`. */
  setFilter(kind: MediaKind, type: string, settings: Settings): void {
    this.command('filter', kind, type, ...settings.flat())
  }

  /** While it runs: `applied` or `refused` follows. */
  changeFilter(id: string, settings: Settings): void {
    this.command('set', id, ...settings.flat())
  }

  start(): void {
    this.command('start')
  }

  /** For the pictures that follow, while it runs. */
  limitVideo({ maxKbps, maxPixels }: VideoLimits): void {
    this.command('limit', 'video', Math.round(maxKbps), maxPixels)
  }
}
