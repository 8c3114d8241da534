/** A row of the table of executed migrations, which TypeORM keeps. */
export interface ExecutedMigration {
  name: string
  timestamp: number
}

/** The record of the version that ran the last migrations, as timestamps of migrations. */
export interface SchemaRecord {
  /** The last one that it ran. */
  schema: number
  /** The last one that the oldest version knows which works on this schema. */
  oldestServer: number
}

interface SchemaFacts {
  executed: readonly ExecutedMigration[]
  record: SchemaRecord | undefined
}

/** The migrations of this version, the last one latest. */
interface KnownMigrations {
  names: readonly string[]
  /** Timestamps of the first and the last one. */
  first: number
  last: number
  oldestServer: number
}

export type SchemaState =
  | { readonly kind: 'current' }
  /** Migrations have to run. */
  | { readonly kind: 'older' }
  /** A later version has migrated the database; this one works on its schema unless `isCompatible` is false. */
  | { readonly kind: 'newer'; readonly unknown: readonly string[]; readonly isCompatible: boolean }

/**
 * How the schema of a database relates to this version. A later version records which is the oldest version that works
 * on its schema, so that two adjacent versions run side by side and the later one can be rolled back.
 */
export function schemaState({ executed, record }: SchemaFacts, known: KnownMigrations): SchemaState {
  const unknown = executed.filter(({ name, timestamp }) => timestamp >= known.first && !known.names.includes(name))
  if (unknown.length > 0) {
    const latest = Math.max(...unknown.map(({ timestamp }) => timestamp))
    // A record of an earlier schema says nothing about this one.
    const isCompatible = record?.schema === latest && record.oldestServer <= known.last
    return { kind: 'newer', unknown: unknown.map(({ name }) => name), isCompatible }
  }
  const names = new Set(executed.map(({ name }) => name))
  const isRecorded = record?.schema === known.last && record.oldestServer === known.oldestServer
  const isComplete = isRecorded && known.names.every((name) => names.has(name))
  return { kind: isComplete ? 'current' : 'older' }
}
