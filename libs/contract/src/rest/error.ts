import { z } from 'zod'

/** The body of an error answer. `timestamp` in UTC ms, `error` the reason phrase of `status`. */
export const ErrorView = z.object({
  timestamp: z.number().describe('Time of the answer, UTC ms'),
  status: z.number().describe('HTTP status'),
  error: z.string().describe('Reason phrase of the status'),
  message: z.string().describe('What is wrong; names each bad field'),
  path: z.string().describe('Path of the request'),
})
export type ErrorView = z.infer<typeof ErrorView>
