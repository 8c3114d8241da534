import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import type { RecordingInfo } from '../index.js'
import { Recordings } from './recordings.js'

const [first, second] = [
  { id: 'tea', name: 'tea' },
  { id: 'tea~1', name: 'again' },
] as const satisfies RecordingInfo[]

describe('Recordings from snapshots', () => {
  const after = (...snapshots: (RecordingInfo[] | undefined)[]): { emitted: unknown[]; running: string[] } => {
    const emitted: unknown[] = []
    const recordings = new Recordings({ state: 'connected' }, (name, event) => emitted.push([name, event]))
    for (const shown of snapshots) recordings.applySnapshot(shown)
    return { emitted, running: [...recordings.running.keys()] }
  }
  const started = (info: RecordingInfo) => ['recordingStarted', info]
  const stopped = (info: RecordingInfo) => ['recordingStopped', { ...info, reason: 'recordingStoppedByServer' }]

  it.each([
    ['emit nothing without recordings', [[]], [], []],
    ['start a recording that is already running', [[first]], [started(first)], ['tea']],
    ['start a continuing recording once', [[first], [first]], [started(first)], ['tea']],
    ['stop a recording that ended without a notification', [[first], []], [started(first), stopped(first)], []],
    [
      'stop a recording and start another one',
      [[first], [second]],
      [started(first), stopped(first), started(second)],
      ['tea~1'],
    ],
    ['emit nothing for a participant without permission', [undefined], [], []],
    ['keep the recordings when a snapshot has no list', [[first], undefined], [started(first)], ['tea']],
  ])('%s', (_, snapshots, emitted, running) => {
    expect(after(...snapshots)).toEqual({ emitted, running })
  })
})

describe('a participant of a recorded session', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join({ recordings: [first] })
  })
  afterEach(() => testbed.stop())

  it('gets the running recordings at once', () => {
    expect(testbed.eventsWhileJoining.at(-1)).toBe('recordingStarted tea')
    expect([...testbed.participant.recordings.running.values()]).toEqual([first])
  })

  it('gets each start and stop once', async () => {
    testbed.server.notify('recordingStarted', first)
    testbed.server.notify('recordingStopped', { ...first, reason: 'automaticStop' })
    testbed.server.notify('recordingStopped', { ...first, reason: 'automaticStop' })
    testbed.server.notify('recordingStarted', second)
    await testbed.waitForEvent('recordingStarted tea~1')
    expect(testbed.log).toEqual(['recordingStopped tea automaticStop', 'recordingStarted tea~1'])
  })

  it('gets the missed changes after the socket was lost', async () => {
    testbed.snapshot = { ...testbed.snapshot, recordings: [second] }
    testbed.server.last.terminate()
    await testbed.waitForEvent('recordingStarted tea~1')
    expect(testbed.log.filter((entry) => entry.startsWith('recording'))).toEqual([
      'recordingStopped tea recordingStoppedByServer',
      'recordingStarted tea~1',
    ])
  })

  it('keeps the recordings during a loss of the media', async () => {
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
    expect([...testbed.participant.recordings.running.keys()]).toEqual(['tea'])
  })
})
