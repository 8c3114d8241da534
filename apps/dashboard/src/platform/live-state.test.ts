import { describe, expect, it } from '@jest/globals'
import { isFinal, nextLiveState, readLiveEvent, retryDelayMs, type Failure, type LiveState } from './live-state.js'

const events = (...ids: string[]) => ({ rows: ids.map((id) => ({ id })) })
const stateOf = (data: unknown, failure?: Failure, summaryFailure?: Failure) =>
  ({ data, failure, summaryFailure }) as LiveState<'events'>
const FAILURE = { status: 503, message: 'The database is unavailable' }
const SUMMARY_FAILURE = { status: 500, message: 'internal error' }
const read = (name: 'summary' | 'view' | 'failure', value: unknown) => {
  const event = readLiveEvent<'events'>(name, JSON.stringify(value))
  if (!event) throw new Error('not read')
  return event
}

describe('the state of a live view', () => {
  it.each([
    ['takes the first data', stateOf(undefined), read('view', events('a')), stateOf(events('a'))],
    ['replaces data', stateOf(events('a')), read('view', events('b')), stateOf(events('b'))],
    [
      'keeps its data when the view cannot be read',
      stateOf(events('a')),
      read('failure', { feed: 'view', ...FAILURE }),
      stateOf(events('a'), FAILURE),
    ],
    ['forgets a failure with new data', stateOf(events('a'), FAILURE), read('view', events('b')), stateOf(events('b'))],
    ['ignores a summary', stateOf(events('a'), FAILURE), read('summary', { now: 1 }), stateOf(events('a'), FAILURE)],
    [
      'keeps its data and a failure of the view when the summary cannot be read',
      stateOf(events('a'), FAILURE),
      read('failure', { feed: 'summary', ...SUMMARY_FAILURE }),
      stateOf(events('a'), FAILURE, SUMMARY_FAILURE),
    ],
    [
      'forgets a failure of the summary with the next summary',
      stateOf(events('a'), FAILURE, SUMMARY_FAILURE),
      read('summary', { now: 1 }),
      stateOf(events('a'), FAILURE),
    ],
    [
      'keeps a failure of the summary with new data',
      stateOf(events('a'), FAILURE, SUMMARY_FAILURE),
      read('view', events('b')),
      stateOf(events('b'), undefined, SUMMARY_FAILURE),
    ],
  ])('%s', (_, before, event, after) => expect(nextLiveState(before, event)).toEqual(after))

  it.each(['', '{"a"', 'null', '7', '"text"'])('has no event for the text %j', (text) =>
    expect(readLiveEvent('view', text)).toBeUndefined(),
  )

  it('ends with an expired sign-in, with views that the credential may not read and with objects that do not exist', () => {
    expect([401, 403, 404, 500, 503].map((status) => isFinal({ status, message: '' }))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
  })

  it('waits longer before each attempt to connect again, at most ten seconds', () => {
    expect([1, 2, 3, 4, 5, 50].map(retryDelayMs)).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
  })
})
