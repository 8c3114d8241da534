import { z } from 'zod'
import type { HelperApi } from '../helper/api.js'

/**
 * Bare mediasoup with one room: `token` is for its publisher, `url` for pages that subscribe step by step, which send
 * their media to `announcedHost` (default: the address of the worker) and `mediaPort`.
 */
export const STEPWISE_SERVER = {
  start: [
    z.object({ initialOutgoingBitrate: z.number(), announcedHost: z.string().optional() }),
    z.object({ token: z.string(), url: z.string(), mediaPort: z.number() }),
  ],
} as const satisfies HelperApi
