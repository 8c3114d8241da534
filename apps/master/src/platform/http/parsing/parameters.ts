import { describeIssues, type ErrorSubject, ServiceError } from '@session-service/contract'
import { PATH_PARAMETERS, type PathParameter } from '@session-service/contract/rest-api'
import { Param, Query } from '@nestjs/common'
import { z } from 'zod'

/** The kind of object that each parameter identifies, because routes may answer differently when it is missing. */
const SUBJECTS: Readonly<Partial<Record<PathParameter, ErrorSubject>>> = {
  sessionId: 'session',
  connectionId: 'connection',
  streamId: 'stream',
  recordingId: 'recording',
  mediaNodeId: 'mediaNode',
}

/**
 * Reads a parameter of a path by its schema.
 * @throws ServiceError NOT_FOUND, as for an id of no object
 */
export function parsePathParameter(name: PathParameter, value: unknown): string {
  const result = PATH_PARAMETERS[name].safeParse(value)
  if (result.success) return result.data
  const [issue = 'is not an id'] = describeIssues(result.error)
  const subject = SUBJECTS[name]
  throw new ServiceError('NOT_FOUND', `${name}: ${issue}`, subject && { subject })
}

/** A parameter of the path, checked by its schema. */
export const PathParam = (name: PathParameter): ParameterDecorator =>
  Param(name, { transform: (value: unknown) => parsePathParameter(name, value) })

const isFlag = (schema: z.core.$ZodType): boolean =>
  z.safeParse(schema, 'true').success && !z.safeParse(schema, 'other').success

/** A flag may be in upper or lower case; other values than true and false are ignored. */
function readFlag(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const text = value.toLowerCase()
  return text === 'true' || text === 'false' ? text : undefined
}

/**
 * Reads a query by the schema of its route; unknown parameters are ignored.
 * @throws ServiceError INVALID for a parameter that is given more than once, or does not match its schema
 */
export function parseQuery<T extends z.ZodObject>(schema: T, query: unknown): z.output<T> {
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape
  const given = Object.entries({ ...(query as object) }).map(([name, value]) => {
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (known && Array.isArray(value)) throw new ServiceError('INVALID', `${name}: must be given only once`)
    return [name, known && isFlag(known) ? readFlag(value) : value] as const
  })
  const result = schema.safeParse(Object.fromEntries(given))
  if (!result.success) throw new ServiceError('INVALID', describeIssues(result.error).join('; '))
  return result.data
}

/** The query, checked by the schema of its route. */
export const QueryParams = (schema: z.ZodObject): ParameterDecorator =>
  Query({ transform: (value: unknown) => parseQuery(schema, value) })

/** The value of a flag of a query. */
export const isTrue = (flag: 'true' | 'false' | undefined, { byDefault = false } = {}): boolean =>
  flag === undefined ? byDefault : flag === 'true'
