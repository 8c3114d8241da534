import { z } from 'zod'

/** What the service calls a recording. */
export const RecordingId = z.string().regex(/^[0-9a-zA-Z_~-]{1,256}$/)

/** What the page may call a session. */
export const SessionName = z
  .string({ error: 'is missing' })
  .regex(/^[0-9a-zA-Z_-]{1,128}$/, 'may hold only letters, digits, "-" and "_", at most 128')
