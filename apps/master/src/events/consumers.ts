/** The consumers of events: the call records, the webhook, the history of sessions, and a search server. */
export const CONSUMERS = ['cdr', 'webhook', 'history', 'search'] as const
export type Consumer = (typeof CONSUMERS)[number]

/**
 * The condition and the order of the undelivered events of a consumer, an expression, from a row `o` of the outbox. A
 * range: with an equality Postgres may follow the primary key, and reads the events of all other consumers on the way.
 */
export const undelivered = (consumer: string): string =>
  `o.consumer BETWEEN ${consumer} AND ${consumer} AND o.dead_at IS NULL ORDER BY o.consumer, o.position`
