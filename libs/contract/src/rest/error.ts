import { z } from 'zod'

/** The body of an error answer. `timestamp` in UTC ms, `error` the reason phrase of `status`. */
export const ErrorView = z.object({
  timestamp: z.number(),
  status: z.number(),
  error: z.string(),
  message: z.string(),
  path: z.string(),
})
export type ErrorView = z.infer<typeof ErrorView>
