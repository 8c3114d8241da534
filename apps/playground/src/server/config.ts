import { z } from 'zod'

const port = z.coerce.number().int().min(1).max(65_535)

const Environment = z.object({
  PLAYGROUND_HOST: z.string().min(1).default('0.0.0.0'),
  PLAYGROUND_PORT: port.default(4444),
  /** Where this application reaches the REST interface of the service. */
  SERVICE_URL: z.url({ protocol: /^https?$/ }).default('http://localhost:4443'),
  SERVICE_SECRET: z.string({ error: 'is mandatory: the secret of the service' }).min(1, 'is mandatory'),
})

export interface PlaygroundConfig {
  readonly host: string
  readonly port: number
  readonly serviceUrl: string
  readonly secret: string
}

/** Throws an `Error` with one line for each variable that is wrong. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): PlaygroundConfig {
  const parsed = Environment.safeParse(env)
  if (!parsed.success)
    throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'))
  const { PLAYGROUND_HOST: host, PLAYGROUND_PORT, SERVICE_URL, SERVICE_SECRET: secret } = parsed.data
  return { host, port: PLAYGROUND_PORT, serviceUrl: SERVICE_URL.replace(/\/+$/, ''), secret }
}
