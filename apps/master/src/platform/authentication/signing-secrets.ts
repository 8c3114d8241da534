import type { MasterConfig } from '@session-service/config'

/** The first secret signs and encrypts, all of them verify and decrypt. */
export type SigningSecrets = readonly [current: string, ...former: string[]]

export const signingSecrets = ({
  SERVICE_SECRET: current,
  SERVICE_SECRET_PREVIOUS: previous,
}: Pick<MasterConfig, 'SERVICE_SECRET' | 'SERVICE_SECRET_PREVIOUS'>): SigningSecrets =>
  previous ? [current, previous] : [current]
