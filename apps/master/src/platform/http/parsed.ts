import { describeIssues, ServiceError } from '@session-service/contract'
import type { PipeTransform } from '@nestjs/common'
import type { z } from 'zod'

/** Reads a body by its schema; a fault is a 400 that names each field. An absent body counts as empty. */
export const parsed = <T extends z.ZodType>(schema: T): PipeTransform<unknown, z.output<T>> => ({
  transform(value) {
    const result = schema.safeParse(value ?? {})
    if (!result.success) throw new ServiceError('INVALID', describeIssues(result.error).join('; '))
    return result.data
  },
})
