import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { LoneMember } from '../fixtures/lone-member.js'
import type { RecordingInfo } from '../index.js'
import { Recordings } from './recordings.js'

const [first, second] = [
  { id: 'tea', name: 'tea' },
  { id: 'tea~1', name: 'again' },
] as const satisfies RecordingInfo[]

describe('what is recorded, as snapshots show it', () => {
  const after = (...snapshots: (RecordingInfo[] | undefined)[]): { told: unknown[]; running: string[] } => {
    const told: unknown[] = []
    const recordings = new Recordings((name, event) => told.push([name, event]))
    for (const shown of snapshots) recordings.bringTo(shown)
    return { told, running: [...recordings.running.keys()] }
  }
  const started = (info: RecordingInfo) => ['recordingStarted', info]
  const stopped = (info: RecordingInfo) => ['recordingStopped', { ...info, reason: 'recordingStoppedByServer' }]

  it.each([
    ['nothing', [[]], [], []],
    ['one that runs already', [[first]], [started(first)], ['tea']],
    ['one that goes on', [[first], [first]], [started(first)], ['tea']],
    ['one that stopped unheard', [[first], []], [started(first), stopped(first)], []],
    ['another since', [[first], [second]], [started(first), stopped(first), started(second)], ['tea~1']],
    ['one who is not told', [undefined], [], []],
    ['a snapshot without any word of recordings', [[first], undefined], [started(first)], ['tea']],
  ])('%s', (_, snapshots, told, running) => {
    expect(after(...snapshots)).toEqual({ told, running })
  })
})

describe('a participant of a session that is recorded', () => {
  let lone: LoneMember
  beforeEach(async () => {
    lone = await LoneMember.join({ recordings: [first] })
  })
  afterEach(() => lone.stop())

  it('hears at once of what runs already', () => {
    expect(lone.toldAtFirst.at(-1)).toBe('recordingStarted tea')
    expect([...lone.member.recordings.running.values()]).toEqual([first])
  })

  it('hears of each end and beginning once', async () => {
    lone.server.notify('recordingStarted', first)
    lone.server.notify('recordingStopped', { ...first, reason: 'automaticStop' })
    lone.server.notify('recordingStopped', { ...first, reason: 'automaticStop' })
    lone.server.notify('recordingStarted', second)
    await lone.hears('recordingStarted tea~1')
    expect(lone.log).toEqual(['recordingStopped tea automaticStop', 'recordingStarted tea~1'])
  })

  it('hears afterwards of what happened while the socket was away', async () => {
    lone.snapshot = { ...lone.snapshot, recordings: [second] }
    lone.server.last.terminate()
    await lone.hears('recordingStarted tea~1')
    expect(lone.log.filter((entry) => entry.startsWith('recording'))).toEqual([
      'recordingStopped tea recordingStoppedByServer',
      'recordingStarted tea~1',
    ])
  })

  it('goes on with it while the media is lost and back', async () => {
    lone.tellLoss()
    await lone.hears('reconnected')
    expect(lone.log).toEqual(['reconnecting', 'reconnected'])
    expect([...lone.member.recordings.running.keys()]).toEqual(['tea'])
  })
})
