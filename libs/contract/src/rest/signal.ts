import { z } from 'zod'
import { optional, text, withDefault } from '../optional.js'
import { DATA_MAX_LENGTH } from '../participants/members.js'

/** The session named by a body. Accepts any text, so that a malformed id is an unknown session, not an invalid body. */
export const SessionRef = text(200).min(1)

/** An absent or empty `to` addresses all participants. */
export const SendSignalBody = z.object({
  session: SessionRef.describe('The target session'),
  to: withDefault(z.array(text(200)).max(10_000), []).describe('Connection ids; absent or empty is every participant'),
  type: optional(text(256)).describe(
    'Clients that subscribed to `signal:<type>` receive it; those that subscribed to `signal` receive every type',
  ),
  data: withDefault(text(DATA_MAX_LENGTH), '').describe('Payload'),
})
export type SendSignalBody = z.output<typeof SendSignalBody>
