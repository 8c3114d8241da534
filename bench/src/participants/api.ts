import { z } from 'zod'
import { type HelperApi, Nothing } from '../helper/api.js'

export const Counts = z.object({
  /** RTP packets of streams: at a sender those it sent, at a receiver those that came, decrypted, each once. */
  packets: z.number(),
  /** All that came over the network: the above, reports, probes, connectivity checks. */
  datagrams: z.number(),
  lost: z.number(),
  /** Subscribed tracks of which nothing came yet, and for video no key frame. */
  missing: z.number(),
  /** Worst delay of this process since the last reading, ms. */
  lagMs: z.number(),
})
export type Counts = z.infer<typeof Counts>

const Room = z.object({ room: z.string() })
const Tokens = Room.extend({ tokens: z.array(z.string()) })
/** Files of a scene that was encoded before. */
const ClipFiles = z.object({ ivf: z.string(), ogg: z.string() })

/** Synthetic participants of rooms, so many in one process of their own. */
export const PARTICIPANTS = {
  /** Everybody joins and publishes a stream, of a clip each in turn; nothing is sent before `talk`. */
  publish: [
    Tokens.extend({
      kbps: z.number(),
      fps: z.number().optional(),
      keyFrameDeafMs: z.number(),
      clips: z.array(ClipFiles).optional(),
    }),
    z.object({ streamIds: z.array(z.string()) }),
  ],
  /** Everybody joins and subscribes to all the streams. */
  subscribe: [Tokens.extend({ streamIds: z.array(z.string()) }), Nothing],
  /** Starts or stops all sending of a room. */
  talk: [Room.extend({ active: z.boolean() }), Nothing],
  count: [Room, Counts],
  leave: [Room, Nothing],
} as const satisfies HelperApi
