import { PROPERTIES } from '@session-service/config'
import { z } from 'zod'

const port = z.coerce.number().int().min(1).max(65_535)

const Environment = z.object({
  PLAYGROUND_HOST: z.string().min(1).default('0.0.0.0'),
  PLAYGROUND_PORT: port.default(4444),
  /** Additional host names of the server: `demo.example.org,www.example.org`. */
  PLAYGROUND_HOSTNAMES: z
    .string()
    .default('')
    .transform((text) =>
      text
        .toLowerCase()
        .split(/[\s,]+/)
        .filter((name) => name !== ''),
    ),
  /** The URL of the service's REST API. */
  SERVICE_URL: z.url({ protocol: /^https?$/ }).default('http://localhost:4443'),
  SERVICE_RUN_AS: z.string().default('').pipe(z.literal('').or(PROPERTIES.SERVICE_RUN_AS.type.schema)),
  SERVICE_SECRET: z.string({ error: 'is mandatory: the secret of the service' }).min(1, 'is mandatory'),
})

export interface PlaygroundConfig {
  readonly host: string
  readonly port: number
  /** Empty: the names of this machine on loopback, any name on other addresses. */
  readonly hostNames: readonly string[]
  readonly serviceUrl: string
  readonly secret: string
  /** SERVICE_RUN_AS: the account to switch to from root; empty: none. */
  readonly runAs: string
}

/** Throws an `Error` with one line for each variable that is wrong. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): PlaygroundConfig {
  const parsed = Environment.safeParse(env)
  if (!parsed.success)
    throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'))
  const { PLAYGROUND_HOST: host, PLAYGROUND_PORT, PLAYGROUND_HOSTNAMES: hostNames } = parsed.data
  const { SERVICE_URL, SERVICE_SECRET: secret, SERVICE_RUN_AS: runAs } = parsed.data
  return { host, port: PLAYGROUND_PORT, hostNames, serviceUrl: SERVICE_URL.replace(/\/+$/, ''), secret, runAs }
}
