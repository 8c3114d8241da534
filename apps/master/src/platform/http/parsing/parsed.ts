import { describeIssues, ServiceError } from '@session-service/contract'
import type { PipeTransform } from '@nestjs/common'
import type { z } from 'zod'

/**
 * Checks a body by its schema. No body means `{}`.
 * @throws ServiceError INVALID with the names of the wrong fields
 */
export function parseBody<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const result = schema.safeParse(body ?? {})
  if (!result.success) throw new ServiceError('INVALID', describeIssues(result.error).join('; '))
  return result.data
}

/** A pipe that checks a body by its schema: an invalid one is answered with 400. */
export const parsed = <T extends z.ZodType>(schema: T): PipeTransform<unknown, z.output<T>> => ({
  transform: (body) => parseBody(schema, body),
})
