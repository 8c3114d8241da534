import { z } from 'zod'

/** On input null and absent are the same: both give `undefined`. */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema
    .nullish()
    .transform((value): z.output<T> | undefined => value ?? undefined)
    .optional()

/** On input null and absent are the same: both give the default. */
export const withDefault = <T extends z.ZodType>(schema: T, value: z.output<T>) =>
  schema
    .nullish()
    .transform((given): z.output<T> => given ?? value)
    .prefault(null as z.input<T>)

/** Text that can be stored and given back byte for byte: well-formed Unicode without NUL, at most `max` characters. */
export const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be well-formed text without NUL')

/** The problems of a failed parse, each beginning with the path of the field it is about. */
export const describeIssues = (error: z.ZodError): string[] =>
  error.issues.map(({ path, message }) => (path.length ? `${path.join('.')}: ${message}` : message))
