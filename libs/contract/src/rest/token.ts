import { z } from 'zod'
import { optional, text, withDefault } from '../optional.js'
import { DATA_MAX_LENGTH, MediaserverOptions, Role } from './connection.js'
import { SessionRef } from './signal.js'

/** Deprecated: POST connection gives the same and more. */
export const CreateTokenBody = z.object({
  session: SessionRef,
  role: withDefault(Role, 'PUBLISHER'),
  data: withDefault(text(DATA_MAX_LENGTH), ''),
  mediaserverOptions: optional(MediaserverOptions),
})
export type CreateTokenBody = z.output<typeof CreateTokenBody>

/** `mediaserverOptions` only when they were given. */
export const TokenView = z.object({
  /** Same as `token`. */
  id: z.string(),
  token: z.string(),
  connectionId: z.string(),
  createdAt: z.number(),
  session: z.string(),
  role: Role,
  data: z.string(),
  record: z.boolean(),
  mediaserverOptions: z.record(z.string(), z.unknown()).optional(),
})
export type TokenView = z.infer<typeof TokenView>
