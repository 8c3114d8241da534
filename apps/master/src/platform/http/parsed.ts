import { describeIssues, ServiceError } from '@session-service/contract'
import type { PipeTransform } from '@nestjs/common'
import type { z } from 'zod'

/** A pipe that checks a body by its schema and answers 400 with the names of the wrong fields. No body means `{}`. */
export const parsed = <T extends z.ZodType>(schema: T): PipeTransform<unknown, z.output<T>> => ({
  transform(value) {
    const result = schema.safeParse(value ?? {})
    if (!result.success) throw new ServiceError('INVALID', describeIssues(result.error).join('; '))
    return result.data
  },
})
