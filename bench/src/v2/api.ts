import { z } from 'zod'
import { type HelperApi, Nothing } from '../helper/api.js'
import { Counts } from '../participants/api.js'

export const ClientKind = z.enum(['native', 'v2'])
export type ClientKind = z.infer<typeof ClientKind>

const Milliseconds = z.object({ ms: z.array(z.number()) })

/** A process with all participants of one meeting at a time. */
export const ATTENDEES = {
  /** All join at once. @returns the time from opening its socket until each has joined */
  join: [z.object({ kind: ClientKind, prefix: z.string(), tokens: z.array(z.string()) }), Milliseconds],
  /** The first ones publish, one after another; they send nothing before `talk`. */
  publish: [z.object({ count: z.number(), kbps: z.number() }), Nothing],
  /** All subscribe at once to all streams of others. @returns the time until each receives them */
  subscribe: [Nothing, Milliseconds],
  talk: [z.object({ active: z.boolean() }), Nothing],
  /** `open` is the number of participants that have never lost their sockets. */
  count: [Nothing, Counts.extend({ open: z.number() })],
  leave: [Nothing, Nothing],
} as const satisfies HelperApi
