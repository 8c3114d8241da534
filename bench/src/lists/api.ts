import { z } from 'zod'
import type { HelperApi } from '../helper/api.js'

/** Clients that request the list of sessions again and again. */
export const READERS = {
  /** `readers` clients at the same time, each as soon as its last list is complete; gives the number of complete lists. */
  read: [
    z.object({ url: z.string(), secret: z.string(), readers: z.number(), seconds: z.number() }),
    z.object({ lists: z.number(), megabytes: z.number() }),
  ],
} as const satisfies HelperApi
