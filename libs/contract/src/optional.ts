import { z } from 'zod'

/** Converts null and absent input to `undefined`. */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema
    .nullish()
    .transform((value): z.output<T> | undefined => value ?? undefined)
    .optional()

/** Converts null and absent input to the default. */
export const withDefault = <T extends z.ZodType>(schema: T, value: z.output<T>) =>
  schema
    .nullish()
    .transform((given): z.output<T> => given ?? value)
    .prefault(null as z.input<T>)

/** Text that the database can store unchanged: well-formed Unicode without NUL, at most `max` characters. */
export const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be well-formed text without NUL')

/** The problems of a failed parse, each with the path of its field. */
export const describeIssues = (error: z.ZodError): string[] =>
  error.issues.map(({ path, message }) => (path.length ? `${path.join('.')}: ${message}` : message))
