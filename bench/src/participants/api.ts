import { z } from 'zod'
import { type HelperApi, Nothing } from '../helper/api.js'

export const Counts = z.object({
  /** RTP packets of streams: sent ones at a sender; received and decrypted ones without duplicates at a receiver. */
  packets: z.number(),
  /** All received datagrams: stream packets, RTCP, probes, connectivity checks. */
  datagrams: z.number(),
  lost: z.number(),
  /** Subscribed tracks without a packet yet; for video: without a key frame. */
  missing: z.number(),
  /** Maximum scheduling delay of this process since the last reading, ms. */
  lagMs: z.number(),
})
export type Counts = z.infer<typeof Counts>

const Room = z.object({ room: z.string() })
const Tokens = Room.extend({ tokens: z.array(z.string()) })
/** Files of a scene that was encoded in advance. */
const ClipFiles = z.object({ ivf: z.string(), ogg: z.string() })

/** A process with the synthetic participants of several rooms. */
export const PARTICIPANTS = {
  /** Joins with every token and publishes a stream, cycling through the clips; sends nothing before `talk`. */
  publish: [
    Tokens.extend({
      kbps: z.number(),
      fps: z.number().optional(),
      keyFrameDeafMs: z.number(),
      clips: z.array(ClipFiles).optional(),
    }),
    z.object({ streamIds: z.array(z.string()) }),
  ],
  /** Joins with every token and subscribes to all the streams. */
  subscribe: [Tokens.extend({ streamIds: z.array(z.string()) }), Nothing],
  /** Starts or stops sending all the streams of a room. */
  talk: [Room.extend({ active: z.boolean() }), Nothing],
  count: [Room, Counts],
  leave: [Room, Nothing],
} as const satisfies HelperApi
