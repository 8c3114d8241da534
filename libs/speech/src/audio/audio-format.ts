import { z } from 'zod'

const byte = z.int().min(0).max(255)

/** The RTP of a stream as a plain transport sends it to loopback. */
export const rtpSource = z.strictObject({
  kind: z.literal('rtp'),
  payloadType: byte.max(127),
  /** Without it a packet of a new source is a restart of the publisher. */
  ssrc: z.int().min(0).max(0xffff_ffff).optional(),
  /** The id of the audio-level header extension; absent where the publisher does not send it. */
  levelId: byte.min(1).optional(),
})
export type RtpSourceOptions = z.infer<typeof rtpSource>

export type AudioFormat = Omit<RtpSourceOptions, 'kind'>
