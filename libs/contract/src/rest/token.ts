import { z } from 'zod'
import { optional, text, withDefault } from '../optional.js'
import { DATA_MAX_LENGTH, Role } from '../participants/members.js'
import { MediaserverOptions } from './connection.js'
import { SessionRef } from './signal.js'

/** Deprecated: use POST connection. */
export const CreateTokenBody = z.object({
  session: SessionRef.describe('The session to join'),
  role: withDefault(Role, 'PUBLISHER').describe('Role of the participant'),
  data: withDefault(text(DATA_MAX_LENGTH), '').describe('Metadata, becomes `serverData`'),
  mediaserverOptions: optional(MediaserverOptions).describe('Bandwidth limits of the participant'),
})
export type CreateTokenBody = z.output<typeof CreateTokenBody>

/** `mediaserverOptions` exists only if the request contained it. */
export const TokenView = z.object({
  id: z.string().describe('Same as `token`'),
  token: z.string().describe('Lets one client join, once'),
  connectionId: z.string().describe('Identifier of the connection'),
  createdAt: z.number().describe('Time of creation, UTC ms'),
  session: z.string().describe('The session to join'),
  role: Role.describe('Role of the participant'),
  data: z.string().describe('Metadata of the token'),
  record: z.boolean().describe('Whether INDIVIDUAL recordings include the streams of the participant'),
  mediaserverOptions: z.record(z.string(), z.unknown()).optional().describe('Bandwidth limits, if they were given'),
})
export type TokenView = z.infer<typeof TokenView>
