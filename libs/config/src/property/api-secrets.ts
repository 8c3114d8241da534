import { z } from 'zod'
import { parseJson } from './parse-json.js'
import type { PropertyType } from './property.js'

/** The rights of the holder of a secret of the REST API. */
const API_ROLES = ['all', 'read-only', 'session-prefix'] as const
export type ApiRole = (typeof API_ROLES)[number]

export interface ApiSecret {
  name: string
  secret: string
  role: ApiRole
  /** The beginning of the ids of the sessions that the role `session-prefix` may access. */
  prefix?: string | undefined
}

/** Bounds the labels of metrics. */
export const MAX_API_SECRETS = 64

const MEMBERS = 'members are name, secret, role and prefix'

const Entry = z
  .strictObject(
    {
      name: z
        .string({ error: 'name must be a string' })
        .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'name must have up to 32 lower-case letters, digits and "-"'),
      secret: z
        .string({ error: 'secret must be a string' })
        .regex(/^[A-Za-z0-9_-]{20,1024}$/, 'secret must have 20 to 1024 letters, digits, "-" and "_"'),
      role: z.enum(API_ROLES, { error: `role must be ${API_ROLES.join(', ')}` }),
      prefix: z
        .string({ error: 'prefix must be a string' })
        .regex(/^[A-Za-z0-9_-]{1,64}$/, 'prefix must have up to 64 letters, digits, "-" and "_"')
        .optional(),
    },
    { error: ({ code }) => (code === 'unrecognized_keys' ? MEMBERS : `must be an object: ${MEMBERS}`) },
  )
  .superRefine(({ role, prefix }, context) => {
    if ((role === 'session-prefix') !== (prefix !== undefined))
      context.addIssue({ code: 'custom', message: 'prefix belongs to the role session-prefix, which needs it' })
  })

const isUnique = (values: readonly string[]): boolean => new Set(values).size === values.length

/** Messages do not quote the text, which contains secrets. */
const List = z
  .array(z.unknown(), { error: `must be a JSON array of objects: ${MEMBERS}` })
  .max(MAX_API_SECRETS, `must have at most ${MAX_API_SECRETS} entries`)
  .transform((entries, context) =>
    entries.flatMap((entry, index) => {
      const parsed = Entry.safeParse(entry)
      if (parsed.success) return [parsed.data]
      for (const { message } of parsed.error.issues)
        context.addIssue({ code: 'custom', message: `entry ${index + 1}: ${message}` })
      return []
    }),
  )
  .refine((entries) => isUnique(entries.map(({ name }) => name)), 'each name must be unique')
  .refine((entries) => isUnique(entries.map(({ secret }) => secret)), 'each secret must be unique')

export const apiSecrets: PropertyType<ApiSecret[]> = {
  label:
    'a JSON array of `{"name": …, "secret": …, "role": "all" | "read-only" | "session-prefix", "prefix": …}`, secrets of at least 20 characters',
  schema: z.string().transform(parseJson).pipe(List) satisfies z.ZodType<ApiSecret[], string>,
  show: (secrets) => JSON.stringify(secrets),
}
