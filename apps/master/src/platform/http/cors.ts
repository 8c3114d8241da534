import type { NestFastifyApplication } from '@nestjs/platform-fastify'

type CorsOptions = Parameters<NestFastifyApplication['enableCors']>[0]

/** `*` alone means every origin, else exactly these; pages then send the Authorization header themselves. */
export const corsOptions = (origins: readonly string[]): CorsOptions => ({
  origin: origins.includes('*') ? '*' : [...origins],
  methods: '*',
  // The wildcard covers every header but this one.
  allowedHeaders: ['*', 'Authorization'],
  exposedHeaders: ['X-Request-Id', 'Retry-After', 'Idempotent-Replayed'],
  strictPreflight: false,
})
