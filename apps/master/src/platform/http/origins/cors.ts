import type { NestFastifyApplication } from '@nestjs/platform-fastify'

type CorsOptions = Parameters<NestFastifyApplication['enableCors']>[0]

/** CORS for all origins with `*`, else for these. Pages set the Authorization header themselves. */
export const corsOptions = (origins: readonly string[]): CorsOptions => ({
  origin: origins.includes('*') ? '*' : [...origins],
  methods: '*',
  // The wildcard does not include this header.
  allowedHeaders: ['*', 'Authorization'],
  exposedHeaders: ['X-Request-Id', 'Retry-After', 'Idempotent-Replayed'],
  strictPreflight: false,
})
