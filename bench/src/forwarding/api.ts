import { z } from 'zod'
import type { HelperApi } from '../helper/api.js'

/** Bare mediasoup with one room. */
export const BARE_SERVER = {
  start: [z.object({ initialOutgoingBitrate: z.number() }), z.object({ token: z.string() })],
} as const satisfies HelperApi
