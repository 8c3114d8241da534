import { DiscoveryService } from '@nestjs/core'
import { prepared } from '../database/prepared-statements.js'

/**
 * A provider that reads rows every second, or two while the cluster rests. The rows of all such providers are read by one
 * statement.
 */
export interface PeriodicReader {
  /** A SELECT without parameters; its rows arrive as JSON. Read once, when the application has started. */
  readonly periodicRead: string
  /** `askedAt`: the start of the read, by `performance.now()`, ms. */
  receive(rows: readonly object[], askedAt: number): void
}

/** Marks a provider as a PeriodicReader. */
export const PeriodicRead = DiscoveryService.createDecorator()

export interface PeriodicRows {
  /** The row of `renewed`. */
  renewed: object
  /** The clock of the database, UTC ms. */
  now: number
  /** The rows of each SELECT, in their order, as they were before the statement. */
  rows: object[][]
}

/** One statement for the renewal of the membership and for all SELECTs; gives one row of `PeriodicRows`. */
export function periodicStatement(renewal: string, selects: readonly string[]): string {
  const arrays = selects.map((select) => `(SELECT coalesce(json_agg(r), '[]') FROM (${select}) r)`)
  return prepared(`WITH ${renewal}
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now, (SELECT to_json(r) FROM renewed r) AS renewed,
    json_build_array(${arrays.join(',\n')}) AS rows`)
}
