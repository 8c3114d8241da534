import { z } from 'zod'
import type { QueuedEvent } from '../outbox.repository.js'

/** All documents are in one index; `elastic_type` distinguishes them. */
export const INDEX = 'service'

/** The body of the creation of the index. A text that looks like a date must not make its member one in later documents. */
export const INDEX_BODY = JSON.stringify({ mappings: { date_detection: false } })

/** Types of documents by the name of the queued ones; every other name is an event of the call records. */
const TYPES: Readonly<Record<string, string>> = {
  networkQualityLevelChanged: 'networkQualityStats',
  sessionSummary: 'sessionSummary',
  userSummary: 'userSummary',
  connectionSummary: 'connectionSummary',
}

/** A document with its action, as two lines. The id is that of the queue, so that a repeated document replaces itself. */
export interface BulkItem {
  id: string
  lines: string
}

/** The most bytes of a bulk request with more than one document: proxies refuse larger bodies by default. */
const MOST_BYTES = 1_000_000

export const bulkItems = (queued: readonly QueuedEvent[], clusterId: string): BulkItem[] =>
  queued.map((each) => ({
    id: each.id,
    lines: `${JSON.stringify({ index: { _index: INDEX, _id: each.id } })}\n${document(each, clusterId)}\n`,
  }))

/** The items in their order, as the contents of requests. */
export function inRequests(items: readonly BulkItem[], mostBytes = MOST_BYTES): BulkItem[][] {
  const requests: BulkItem[][] = []
  let room = 0
  for (const item of items) {
    const bytes = Buffer.byteLength(item.lines)
    if (bytes > room) {
      requests.push([])
      room = mostBytes
    }
    requests.at(-1)?.push(item)
    room -= bytes
  }
  return requests
}

export const bulkBody = (items: readonly BulkItem[]): string => items.map(({ lines }) => lines).join('')

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

/** Whether the same request may succeed later. */
export const isTemporary = (status: number): boolean => status === 429 || status >= 500
