import { describe, expect, it } from '@jest/globals'
import { type ProblemFacts, problemsOf } from './problems.js'

const NOW = 1_800_000_000_000
type NodeFacts = ProblemFacts['nodes'][number]
const node = (changes: Partial<NodeFacts> = {}): NodeFacts => ({
  id: 'north',
  status: 'running',
  statusReason: null,
  isDisconnected: false,
  crashCount: 0,
  backOffUntil: null,
  ...changes,
})
const HEALTHY: ProblemFacts = {
  now: NOW,
  nodes: [node()],
  deadLetters: 0,
  failedRecordings: 0,
  queueAges: [{ consumer: 'webhook', seconds: 119 }],
  rollback: undefined,
  diskFault: undefined,
}
const problems = (changes: Partial<ProblemFacts>): string[] =>
  problemsOf({ ...HEALTHY, ...changes }).map(({ text, view }) => `${view}: ${text}`)
const south = (changes: Partial<NodeFacts>): ProblemFacts['nodes'] => [node(), node({ id: 'south', ...changes })]

describe('problemsOf', () => {
  it.each<[what: string, changes: Partial<ProblemFacts>, expected: string[]]>([
    ['nothing', {}, []],
    ['no media node', { nodes: [] }, ['media-nodes: No media node is running: sessions cannot be joined']],
    [
      'only a node that drains',
      { nodes: [node({ status: 'waiting-idle-to-terminate' })] },
      ['media-nodes: No media node is running: sessions cannot be joined'],
    ],
    ['a node that is launched beside another', { nodes: south({ status: 'launching' }) }, []],
    ['a lost node', { nodes: south({ isDisconnected: true }) }, ['media-nodes: Media node south is disconnected']],
    [
      'a failed launch with a reason',
      { nodes: south({ status: 'failed', statusReason: 'no image' }) },
      ['media-nodes: Media node south could not be started: no image'],
    ],
    [
      'a failed launch without one',
      { nodes: south({ status: 'failed' }) },
      ['media-nodes: Media node south could not be started'],
    ],
    [
      'a node in back-off',
      { nodes: south({ crashCount: 3, backOffUntil: NOW + 1 }) },
      ['media-nodes: Media node south crashed 3 times in a row: other nodes are preferred for a while'],
    ],
    ['a back-off that is over', { nodes: south({ crashCount: 3, backOffUntil: NOW }) }, []],
    ['one dead letter', { deadLetters: 1 }, ['dead-letters: 1 event was not delivered to the webhook']],
    ['several dead letters', { deadLetters: 7 }, ['dead-letters: 7 events were not delivered to the webhook']],
    ['a failed recording', { failedRecordings: 1 }, ['recordings: 1 recording failed in the last hour']],
    ['failed recordings', { failedRecordings: 2 }, ['recordings: 2 recordings failed in the last hour']],
    ['a full disk', { diskFault: 'not enough disk' }, ['recordings: Recordings cannot be started: not enough disk']],
    [
      'old queues',
      {
        queueAges: [
          { consumer: 'cdr', seconds: 120 },
          { consumer: 'webhook', seconds: 599 },
        ],
      },
      [
        'events: Events for the webhook have been waiting for 9 minutes',
        'events: Events for the call records have been waiting for 2 minutes',
      ],
    ],
    [
      'a rollback',
      { rollback: { properties: ['SERVICE_CDR'], reason: 'the folder is missing' } },
      ['configuration: The last restart was rolled back (SERVICE_CDR): the folder is missing'],
    ],
  ])('lists for %s', (_, changes, expected) => {
    expect(problems(changes)).toEqual(expected)
  })

  it('begins with the most urgent one', () => {
    const all = problemsOf({
      now: NOW,
      nodes: [node({ isDisconnected: true }), node({ id: 'east', status: 'failed' })],
      deadLetters: 1,
      failedRecordings: 1,
      queueAges: [{ consumer: 'search', seconds: 300 }],
      rollback: { properties: [], reason: '' },
      diskFault: 'full',
    })
    expect(all.map(({ view }) => view)).toEqual([
      ...['media-nodes', 'media-nodes', 'media-nodes', 'configuration', 'recordings', 'recordings'],
      ...['events', 'dead-letters'],
    ])
    expect(all[0]?.text).toMatch(/^No media node/)
  })
})
