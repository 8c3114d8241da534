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

/** The load generator. */
export const LOAD = {
  /** Each connection sends one call at a time, alternating `POST sessions` and `POST connection`. */
  run: [z.object({ url: z.string(), secret: z.string(), connections: z.number(), seconds: z.number() }), LoadResult],
} as const satisfies HelperApi
