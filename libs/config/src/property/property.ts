import type { z } from 'zod'

export type ProcessKind = 'master' | 'node'
export type Audience = ProcessKind | 'both'

/** Converts the text of an environment variable to a value and back. */
export interface PropertyType<T> {
  /** Describes the accepted values in documentation and errors. */
  label: string
  schema: z.ZodType<T, string>
  show(value: T): string
  /** JSON Schema of the value in the REST API; default: a string. */
  json?: Readonly<Record<string, unknown>>
}

/** Input of a derived default: the kind of the process, and the properties above it in the table. */
export interface Known {
  process: ProcessKind
  values: Readonly<Record<string, unknown>>
}

/** `text` describes the result of `from` in the documentation. */
interface DerivedDefault<T> {
  text: string
  from(known: Known): T
}

interface Meaning {
  /** Describes the effect in one line. */
  meaning: string
  unit?: string
  /** Never shown in logs, responses or documentation. */
  secret?: boolean
  /** `POST restart` can change it. */
  restartable?: boolean
  /** Accepted and shown, but not used by this version. */
  pending?: boolean
}

type Default<T> = { default: T } | { derived: DerivedDefault<T> } | { mandatory: true }

export type Property<A extends Audience = Audience, T = unknown> = Meaning & {
  audience: A
  type: PropertyType<T>
} & Default<T>

export const property = <const A extends Audience, T>(
  audience: A,
  type: PropertyType<T>,
  details: Meaning & Default<NoInfer<T>>,
): Property<A, T> => ({ audience, type, ...details })
