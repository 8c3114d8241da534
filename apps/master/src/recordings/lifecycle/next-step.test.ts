import { describe, expect, it } from '@jest/globals'
import type { PartSnapshot, RecordingSnapshot } from '../repository/recording-snapshot.js'
import { nextStep, type Step } from './next-step.js'

const part: PartSnapshot = {
  part: 1,
  nodeId: 'north',
  epoch: 1,
  isEnded: false,
  isPoor: false,
  isOutOfDisk: false,
  endedForMs: 0,
  isLost: false,
}
const seen: RecordingSnapshot = {
  status: 'started',
  ageMs: 100,
  hasStarter: true,
  isClaimed: false,
  isRemoved: false,
  hasSession: true,
  epoch: 1,
  parts: [part],
}
const ended: PartSnapshot = { ...part, isEnded: true }
const lost: PartSnapshot = { ...part, isLost: true }
/** So many short parts, the last of which ended so long ago. */
const poor = (count: number, endedForMs: number): PartSnapshot[] =>
  Array.from({ length: count }, (_, nth) => ({ ...ended, part: nth + 1, isPoor: true, endedForMs }))

const CASES: [string, Partial<RecordingSnapshot>, Step['kind']][] = [
  ['starts', { status: 'starting' }, 'wait'],
  ['starts at a master that died', { status: 'starting', hasStarter: false }, 'giveUpStart'],
  ['starts for ever', { status: 'starting', ageMs: 46_000 }, 'giveUpStart'],
  ['is under way', {}, 'wait'],
  ['has no session any more', { hasSession: false }, 'stop'],
  ['has no session any more, and its media had gone before', { hasSession: false, epoch: null }, 'stop'],
  ['waits for its session to be placed anew', { epoch: null }, 'wait'],
  ['waits for that with a part that is over', { epoch: null, parts: [ended] }, 'wait'],
  ['is where its session has been', { epoch: 2 }, 'continue'],
  ['is where its session has been, the node is lost', { epoch: 2, parts: [lost] }, 'continue'],
  ['has lost its recorder', { parts: [ended] }, 'continue'],
  ['is not listed by its node', { parts: [lost] }, 'continue'],
  ['has lost a recorder soon', { parts: poor(1, 0) }, 'continue'],
  ['has lost two soon, a moment ago', { parts: poor(2, 900) }, 'wait'],
  ['has lost two soon, a while ago', { parts: poor(2, 1_100) }, 'continue'],
  ['has lost four soon, a while ago', { parts: poor(4, 3_900) }, 'wait'],
  ['has lost five soon', { parts: poor(5, 60_000) }, 'stop'],
  ['has lost five soon, then one after long', { parts: [...poor(5, 60_000), ended] }, 'continue'],
  ['has lost five soon where its session was', { epoch: 2, parts: poor(5, 60_000) }, 'continue'],
  ['is stopped, its node is not', { status: 'stopped' }, 'askToStop'],
  ['is stopped, its session gone', { status: 'stopped', hasSession: false, epoch: null }, 'askToStop'],
  ['is stopped, its node lost', { status: 'stopped', parts: [lost] }, 'giveUpParts'],
  ['is stopped, and a former node lost', { status: 'stopped', parts: [lost, { ...part, part: 2 }] }, 'giveUpParts'],
  ['is stopped, all parts are here', { status: 'stopped', parts: [ended] }, 'assemble'],
  ['is stopped, its file is being made', { status: 'stopped', parts: [ended], isClaimed: true }, 'wait'],
  ['is ready', { status: 'ready', parts: [ended] }, 'wait'],
  ['is deleted', { status: 'ready', parts: [ended], isRemoved: true }, 'clear'],
  ['is deleted before its file was made', { status: 'stopped', parts: [ended], isRemoved: true }, 'clear'],
  ['is deleted, its files are removed later', { status: 'ready', isRemoved: true, isClaimed: true }, 'wait'],
  ['has failed', { status: 'failed', parts: [ended] }, 'wait'],
]

describe('what a recording needs next that', () => {
  it.each(CASES)('%s', (_, state, kind) => {
    expect(nextStep({ ...seen, ...state }).kind).toBe(kind)
  })

  it('goes on elsewhere is a part after its last', () => {
    expect(nextStep({ ...seen, epoch: 2, parts: [ended, { ...part, part: 7 }] })).toEqual({
      kind: 'continue',
      after: 7,
    })
  })

  it.each([
    [false, 'mediaServerDisconnect'],
    [true, 'notEnoughDisk'],
  ])('has lost five soon names the cause; a full disk: %s', (isOutOfDisk, reason) => {
    const parts = poor(5, 60_000).map((one) => ({ ...one, isOutOfDisk }))
    expect(nextStep({ ...seen, parts })).toEqual({ kind: 'stop', reason })
  })

  it('is stopped names the parts concerned', () => {
    const parts = [ended, { ...part, part: 2 }, { ...lost, part: 3 }]
    expect(nextStep({ ...seen, status: 'stopped', parts })).toEqual({ kind: 'giveUpParts', parts: [parts[2]] })
    expect(nextStep({ ...seen, status: 'stopped', parts: parts.slice(0, 2) })).toEqual({
      kind: 'askToStop',
      parts: [parts[1]],
    })
  })
})
