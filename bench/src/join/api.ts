import { z } from 'zod'
import type { HelperApi } from '../helper/api.js'

/** Bare mediasoup with one room: `token` is for its publisher, `url` for pages that subscribe step by step. */
export const STEPWISE_SERVER = {
  start: [z.object({ initialOutgoingBitrate: z.number() }), z.object({ token: z.string(), url: z.string() })],
} as const satisfies HelperApi
