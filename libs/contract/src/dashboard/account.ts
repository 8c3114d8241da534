import { z } from 'zod'

/** The body of `POST sign-in`. */
export const SignInBody = z.strictObject({ secret: z.string().min(1).max(1_024) })
export type SignInBody = z.infer<typeof SignInBody>

/** The answer of `POST sign-in` and `GET account`. */
export interface AccountView {
  /** The secret that signed in: `SERVICE_SECRET` or an entry of `SERVICE_API_SECRETS`, by name. */
  credential: { name: string; role: 'all' | 'read-only' | 'session-prefix'; prefix?: string }
  csrfToken: string
  /** UTC ms. */
  expiresAt: number
  version: string
  edition: 'ce' | 'pro' | 'enterprise'
  /** Whether the service records, keeps a history and posts events. */
  features: { recording: boolean; history: boolean; webhook: boolean; networkQuality: boolean }
  /** `SERVICE_PRO_DASHBOARD_HOST`, for a link to another dashboard; empty when there is none. */
  otherDashboard: string
}
