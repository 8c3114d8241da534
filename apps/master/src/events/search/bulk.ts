import { z } from 'zod'
import type { QueuedEvent } from '../outbox.repository.js'

/** All documents are in one index; `elastic_type` distinguishes them. */
export const INDEX = 'service'

/** Types of documents by the name of the queued ones; every other name is an event of the call records. */
const TYPES: Readonly<Record<string, string>> = {
  networkQualityLevelChanged: 'networkQualityStats',
  sessionSummary: 'sessionSummary',
  userSummary: 'userSummary',
  connectionSummary: 'connectionSummary',
}

/** The body of a bulk request. Ids are those of the queue, so that a repeated document replaces itself. */
export const bulkBody = (queued: readonly QueuedEvent[], clusterId: string): string =>
  queued
    .map((each) => `${JSON.stringify({ index: { _index: INDEX, _id: each.id } })}\n${document(each, clusterId)}\n`)
    .join('')

function document({ name, payload }: QueuedEvent, clusterId: string): string {
  const members = JSON.parse(payload) as object
  const type = TYPES[name]
  return JSON.stringify({
    elastic_type: type ?? 'cdr',
    cluster_id: clusterId,
    ...(type === undefined && { event: name }),
    ...members,
  })
}

/** The answer to a bulk request, in the part that is used. */
export const BulkAnswer = z.object({
  items: z.array(
    z.object({
      index: z.object({
        _id: z.string(),
        status: z.number().int(),
        error: z.object({ type: z.string(), reason: z.string().optional() }).optional(),
      }),
    }),
  ),
})
export type BulkAnswer = z.infer<typeof BulkAnswer>

export interface BulkOutcome {
  stored: number
  /** Documents that the server will never take: an index with another mapping, for example. */
  refused: { id: string; reason: string }[]
  /** Whether the server asks for a later attempt of at least one document. */
  mustRetry: boolean
}

export function outcomeOf({ items }: BulkAnswer): BulkOutcome {
  const failed = items.map(({ index }) => index).filter(({ status }) => status >= 300)
  return {
    stored: items.length - failed.length,
    refused: failed
      .filter(({ status }) => !isTemporary(status))
      .map(({ _id: id, status, error }) => ({
        id,
        reason: error ? `${error.type}: ${error.reason ?? ''}` : `status ${status}`,
      })),
    mustRetry: failed.some(({ status }) => isTemporary(status)),
  }
}

const isTemporary = (status: number): boolean => status === 429 || status >= 500
