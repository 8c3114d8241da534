import { z } from 'zod'

export const RecordingId = z.string().regex(/^[0-9a-zA-Z_~-]{1,256}$/)

/** A session name from the page. */
export const SessionName = z
  .string({ error: 'is missing' })
  .regex(/^[0-9a-zA-Z_-]{1,128}$/, 'may hold only letters, digits, "-" and "_", at most 128')
