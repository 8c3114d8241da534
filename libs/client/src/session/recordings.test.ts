import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
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
    for (const shown of snapshots) recordings.applySnapshot(shown)
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
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join({ recordings: [first] })
  })
  afterEach(() => testbed.stop())

  it('hears at once of what runs already', () => {
    expect(testbed.eventsWhileJoining.at(-1)).toBe('recordingStarted tea')
    expect([...testbed.participant.recordings.running.values()]).toEqual([first])
  })

  it('hears of each end and beginning once', async () => {
    testbed.server.notify('recordingStarted', first)
    testbed.server.notify('recordingStopped', { ...first, reason: 'automaticStop' })
    testbed.server.notify('recordingStopped', { ...first, reason: 'automaticStop' })
    testbed.server.notify('recordingStarted', second)
    await testbed.waitForEvent('recordingStarted tea~1')
    expect(testbed.log).toEqual(['recordingStopped tea automaticStop', 'recordingStarted tea~1'])
  })

  it('hears afterwards of what happened while the socket was away', async () => {
    testbed.snapshot = { ...testbed.snapshot, recordings: [second] }
    testbed.server.last.terminate()
    await testbed.waitForEvent('recordingStarted tea~1')
    expect(testbed.log.filter((entry) => entry.startsWith('recording'))).toEqual([
      'recordingStopped tea recordingStoppedByServer',
      'recordingStarted tea~1',
    ])
  })

  it('goes on with it while the media is lost and back', async () => {
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
    expect([...testbed.participant.recordings.running.keys()]).toEqual(['tea'])
  })
})
