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

/** Invalid input can cause thousands of issues, and its names are part of their texts. */
const MOST_ISSUES = 20
const MOST_ISSUE_CHARACTERS = 1_000

/** The first problems of a failed parse, each with the path of its field. `within` is the path of the parsed value. */
export function describeIssues({ issues }: z.ZodError, within: readonly string[] = []): string[] {
  const described = issues.slice(0, MOST_ISSUES).map(({ path, message }) => {
    const field = [...within, ...path].join('.')
    return (field ? `${field}: ${message}` : message).slice(0, MOST_ISSUE_CHARACTERS)
  })
  const more = issues.length - described.length
  return more > 0 ? [...described, `… and ${more} more`] : described
}
