import { z } from 'zod'
import type { HelperApi } from '../helper/api.js'

/** Clients without media that join a session, send a signal to all, and leave. */
export const CLIENTS = {
  /** `atOnce`: all do each step at the same time; else one client after the other. Gives the duration of each step, ms. */
  visit: [
    z.object({ tokens: z.array(z.string()), atOnce: z.boolean() }),
    z.object({ joinMs: z.number(), signalMs: z.number(), leaveMs: z.number() }),
  ],
} as const satisfies HelperApi
