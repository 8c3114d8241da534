import { ConnectionView, SessionView } from '@session-service/contract'
import { z } from 'zod'
import type { HelperApi } from '../helper/api.js'

/** The server that answers every call with a constant. */
export const CONSTANT_SERVER = {
  listen: [
    z.object({ secret: z.string(), session: SessionView, connection: ConnectionView }),
    z.object({ url: z.string() }),
  ],
} as const satisfies HelperApi

export const LoadResult = z.object({ calls: z.number(), seconds: z.number() })
export type LoadResult = z.infer<typeof LoadResult>

/**
 * `creation`: `POST sessions` and `POST connection`. `life`: these two, then both are read, the connection is changed, and
 * both are deleted.
 */
export const Mix = z.enum(['creation', 'life'])
export type Mix = z.infer<typeof Mix>

export const LoadRequest = z.object({
  url: z.string(),
  secret: z.string(),
  connections: z.number(),
  seconds: z.number(),
  mix: Mix,
})
export type LoadRequest = z.infer<typeof LoadRequest>

/** The load generator. */
export const LOAD = {
  /** Each connection sends the calls of the mix again and again, one at a time. */
  run: [LoadRequest, LoadResult],
} as const satisfies HelperApi
