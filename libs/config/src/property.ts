import type { z } from 'zod'

export type ProcessKind = 'master' | 'node'
export type Audience = ProcessKind | 'both'

/** How the text of an environment variable becomes a value, and back. */
export interface PropertyType<T> {
  /** For people: what may be given. */
  label: string
  schema: z.ZodType<T, string>
  show(value: T): string
  /** JSON Schema of the value as REST shows it; a string unless given. */
  json?: Readonly<Record<string, unknown>>
}

/** What is known when a default is worked out: the process and every property further up in the table. */
export interface Known {
  process: ProcessKind
  values: Readonly<Record<string, unknown>>
}

/** `text` says for people what `from` works out. */
export interface DerivedDefault<T> {
  text: string
  from(known: Known): T
}

interface Meaning {
  /** One line: what it does. */
  meaning: string
  unit?: string
  /** Never shown: not in logs, answers, or documentation. */
  secret?: boolean
  /** May be changed by `POST restart`. */
  restartable?: boolean
  /** Accepted and shown, but no part of this version acts on it. */
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
