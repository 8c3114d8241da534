import { z } from 'zod'
import { Id } from '../ids.js'

/** The schemas of all path parameters. An invalid value gets the answer for an unknown id. */
export const PATH_PARAMETERS = {
  sessionId: Id,
  uniqueSessionId: z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/, 'may hold only letters, digits, "-" and "_"')
    .max(220),
  connectionId: Id,
  streamId: Id,
  mediaNodeId: Id,
  eventId: Id,
  property: z
    .string()
    .regex(/^[A-Z0-9_]+$/, 'may hold only upper-case letters, digits and "_"')
    .max(100),
  recordingId: z
    .string()
    .regex(/^[A-Za-z0-9_~-]+$/, 'may hold only letters, digits, "-", "_" and "~"')
    .max(220),
  file: z
    .string()
    .regex(/^\w[\w.-]*$/, 'may hold only letters, digits, ".", "-" and "_"')
    .max(200),
} as const satisfies Record<string, z.ZodType<string>>
export type PathParameter = keyof typeof PATH_PARAMETERS
