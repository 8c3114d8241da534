import { describe, expect, it } from '@jest/globals'
import type { QueuedEvent } from '../outbox.repository.js'
import { bulkBody, type BulkItem, bulkItems, inRequests, outcomeOf } from './bulk.js'

const queued = (id: string, name: string, payload: object): QueuedEvent => ({
  position: 1,
  id,
  name,
  sessionKey: 'daily_1',
  payload: JSON.stringify(payload),
  attempts: 0,
  traceContext: null,
})
const linesOf = (events: QueuedEvent[]): unknown[] =>
  bulkBody(bulkItems(events, 'cluster'))
    .split('\n')
    .map((line) => (line === '' ? line : (JSON.parse(line) as unknown)))

describe('the body of a bulk request', () => {
  it('has an action and a document for each event, and ends with a line feed', () => {
    const event = queued('evt_1', 'participantJoined', { connectionId: 'a', clientData: 'two\nlines' })
    expect(linesOf([event])).toEqual([
      { index: { _index: 'service', _id: 'evt_1' } },
      {
        elastic_type: 'cdr',
        cluster_id: 'cluster',
        event: 'participantJoined',
        connectionId: 'a',
        clientData: 'two\nlines',
      },
      '',
    ])
  })

  it.each([
    ['networkQualityLevelChanged', 'networkQualityStats'],
    ['sessionSummary', 'sessionSummary'],
    ['userSummary', 'userSummary'],
    ['connectionSummary', 'connectionSummary'],
  ])('names the type of %s: %s', (name, type) => {
    expect(linesOf([queued('1', name, { timestamp: 1 })])[1]).toEqual({
      elastic_type: type,
      cluster_id: 'cluster',
      timestamp: 1,
    })
  })
})

describe('the requests for a batch of documents', () => {
  const items = (...sizes: number[]): BulkItem[] =>
    sizes.map((bytes, number) => ({ id: String(number), lines: 'é'.repeat(bytes / 2) }))

  it.each([
    [[], []],
    [[4, 4, 2], [[4, 4, 2]]],
    [
      [4, 4, 4],
      [[4, 4], [4]],
    ],
    [
      [2, 20, 2, 8],
      [[2], [20], [2, 8]],
    ],
  ])('of %j bytes with a limit of 10 are %j', (sizes, expected) => {
    const requests = inRequests(items(...sizes), 10)
    expect(requests.map((each) => each.map(({ lines }) => Buffer.byteLength(lines)))).toEqual(expected)
    expect(requests.flat().map(({ id }) => id)).toEqual(sizes.map((_, number) => String(number)))
  })
})

describe('the outcome of a bulk request', () => {
  const item = (_id: string, status: number, error?: { type: string; reason?: string }) => ({
    index: { _id, status, ...(error && { error }) },
  })

  it.each([
    ['all stored', [item('a', 201), item('b', 200)], { stored: 2, refused: [], mustRetry: false }],
    ['an overloaded server', [item('a', 201), item('b', 429)], { stored: 1, refused: [], mustRetry: true }],
    ['an unavailable shard', [item('a', 503)], { stored: 0, refused: [], mustRetry: true }],
    [
      'a document that does not fit the index',
      [item('a', 400, { type: 'mapper_parsing_exception', reason: 'no number' }), item('b', 201), item('c', 403)],
      {
        stored: 1,
        refused: [
          { id: 'a', reason: 'mapper_parsing_exception: no number' },
          { id: 'c', reason: 'status 403' },
        ],
        mustRetry: false,
      },
    ],
  ])('with %s', (_, items, outcome) => {
    expect(outcomeOf({ items })).toEqual(outcome)
  })
})
