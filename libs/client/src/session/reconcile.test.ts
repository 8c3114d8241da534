import { describe, expect, it } from '@jest/globals'
import { connectionInfo, streamInfo } from '../fixtures/samples.js'
import type { RosterSnapshot, RosterChange } from '../signalling/notification.js'
import { reconcile } from './reconcile.js'

const [a, b, c] = ['con_a', 'con_b', 'con_c'].map((id) => connectionInfo(id)) as [
  ReturnType<typeof connectionInfo>,
  ReturnType<typeof connectionInfo>,
  ReturnType<typeof connectionInfo>,
]
const of = (connections: RosterSnapshot['connections'], streams: RosterSnapshot['streams'] = []): RosterSnapshot => ({
  connections,
  streams,
})
const brief = (changes: RosterChange[]): string[] =>
  changes.map(({ method, params }) => {
    const id = 'streamId' in params ? params.streamId : params.connectionId
    const value = 'newValue' in params ? params.newValue : ''
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    const what = 'changedProperty' in params ? ` ${params.changedProperty}=${text}` : ''
    return `${method} ${id}${what}${'reason' in params ? ` ${params.reason}` : ''}`
  })

describe('reconcile', () => {
  const cam = streamInfo('str_b', 'con_b')
  it.each<[string, RosterSnapshot, RosterSnapshot, string[]]>([
    ['nothing happened', of([a, b], [cam]), of([b, a], [cam]), []],
    ['a participant joined', of([a]), of([a, b]), ['connectionCreated con_b']],
    [
      'one came and publishes: the connection first',
      of([a]),
      of([a, b], [cam]),
      ['connectionCreated con_b', 'streamCreated str_b'],
    ],
    ['a participant publishes', of([a, b]), of([a, b], [cam]), ['streamCreated str_b']],
    ['a participant stopped publishing', of([a, b], [cam]), of([a, b]), ['streamDestroyed str_b unpublish']],
    [
      'one left who published: the stream first',
      of([a, b], [cam]),
      of([a]),
      ['streamDestroyed str_b disconnect', 'connectionDestroyed con_b disconnect'],
    ],
    [
      'a participant replaced its stream: the old stream ends before the new one starts',
      of([a, b], [cam]),
      of([a, b], [streamInfo('str_b2', 'con_b')]),
      ['streamDestroyed str_b unpublish', 'streamCreated str_b2'],
    ],
    [
      'one left, another came',
      of([a, b], [cam]),
      of([a, c], [streamInfo('str_c', 'con_c')]),
      [
        'streamDestroyed str_b disconnect',
        'connectionDestroyed con_b disconnect',
        'connectionCreated con_c',
        'streamCreated str_c',
      ],
    ],
    [
      'one muted both',
      of([a, b], [cam]),
      of([a, b], [streamInfo('str_b', 'con_b', { audioActive: false, videoActive: false })]),
      [
        'streamPropertyChanged str_b audioActive=false publishAudio',
        'streamPropertyChanged str_b videoActive=false publishVideo',
      ],
    ],
    [
      'one turned the telephone',
      of([a, b], [cam]),
      of([a, b], [streamInfo('str_b', 'con_b', { videoDimensions: '{"width":480,"height":640}' })]),
      ['streamPropertyChanged str_b videoDimensions={"width":480,"height":640} deviceRotated'],
    ],
    [
      'a size that was unknown is known',
      of([a, b], [streamInfo('str_b', 'con_b', { videoDimensions: null })]),
      of([a, b], [cam]),
      ['streamPropertyChanged str_b videoDimensions={"width":640,"height":480} trackReplaced'],
    ],
    [
      'absent and null are the same',
      of([a, b], [streamInfo('str_b', 'con_b', { frameRate: undefined })]),
      of([a, b], [streamInfo('str_b', 'con_b', { frameRate: null })]),
      [],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(brief(reconcile(before, after))).toEqual(expected)
  })
})
