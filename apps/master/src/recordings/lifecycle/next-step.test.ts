import { describe, expect, it } from '@jest/globals'
import type { PartSnapshot, RecordingSnapshot } from '../repository/recording-snapshot.js'
import { nextStep, type Step } from './next-step.js'

const part: PartSnapshot = {
  part: 1,
  nodeId: 'north',
  epoch: 1,
  isEnded: false,
  isShort: false,
  isOutOfDisk: false,
  sinceEndMs: 0,
  isLost: false,
  isRecorded: false,
}
const recording: RecordingSnapshot = {
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
/** Its files are being composed or delivered. */
const recorded: PartSnapshot = { ...part, isRecorded: true }
/** `count` short parts, the last of which ended `sinceEndMs` ago. */
const short = (count: number, sinceEndMs: number): PartSnapshot[] =>
  Array.from({ length: count }, (_, nth) => ({ ...ended, part: nth + 1, isShort: true, sinceEndMs }))

const CASES: [string, Partial<RecordingSnapshot>, Step['kind']][] = [
  ['is starting', { status: 'starting' }, 'wait'],
  ['is starting and whose master died', { status: 'starting', hasStarter: false }, 'failStart'],
  ['is starting for longer than the timeout', { status: 'starting', ageMs: 46_000 }, 'failStart'],
  ['is being recorded', {}, 'wait'],
  ['has lost its session', { hasSession: false }, 'stop'],
  ['has lost its session after the media of it', { hasSession: false, epoch: null }, 'stop'],
  ['waits for its session to be placed again', { epoch: null }, 'wait'],
  ['waits for its session to be placed again after its part has ended', { epoch: null, parts: [ended] }, 'wait'],
  ['is on the former media node of its session', { epoch: 2 }, 'addPart'],
  ['is on the former media node of its session, which is lost', { epoch: 2, parts: [lost] }, 'addPart'],
  ['has no recorder any more', { parts: [ended] }, 'addPart'],
  ['has a part that is composed, but no recorder any more', { parts: [recorded] }, 'addPart'],
  ['is not listed by its media node', { parts: [lost] }, 'addPart'],
  ['has one short part', { parts: short(1, 0) }, 'addPart'],
  ['has two short parts, the last 900 ms ago', { parts: short(2, 900) }, 'wait'],
  ['has two short parts, the last 1100 ms ago', { parts: short(2, 1_100) }, 'addPart'],
  ['has four short parts, the last 3900 ms ago', { parts: short(4, 3_900) }, 'wait'],
  ['has five short parts', { parts: short(5, 60_000) }, 'stop'],
  ['has five short parts and a longer one after them', { parts: [...short(5, 60_000), ended] }, 'addPart'],
  ['has five short parts of an earlier placement', { epoch: 2, parts: short(5, 60_000) }, 'addPart'],
  ['is stopped while its media node still records', { status: 'stopped' }, 'requestStop'],
  ['is stopped while its media node composes it', { status: 'stopped', parts: [recorded] }, 'wait'],
  [
    'is stopped while one part is composed and another one recorded',
    { status: 'stopped', parts: [recorded, { ...part, part: 2 }] },
    'requestStop',
  ],
  [
    'is stopped and whose media node died while it composed',
    { status: 'stopped', parts: [{ ...lost, isRecorded: false }] },
    'abandonParts',
  ],
  ['is stopped and without a session', { status: 'stopped', hasSession: false, epoch: null }, 'requestStop'],
  ['is stopped and whose media node is lost', { status: 'stopped', parts: [lost] }, 'abandonParts'],
  [
    'is stopped and whose former media node is lost',
    { status: 'stopped', parts: [lost, { ...part, part: 2 }] },
    'abandonParts',
  ],
  ['is stopped after all parts have ended', { status: 'stopped', parts: [ended] }, 'finalize'],
  ['is being finalized', { status: 'stopped', parts: [ended], isClaimed: true }, 'wait'],
  ['is ready', { status: 'ready', parts: [ended] }, 'wait'],
  ['is deleted', { status: 'ready', parts: [ended], isRemoved: true }, 'removeFiles'],
  ['is deleted before its file was made', { status: 'stopped', parts: [ended], isRemoved: true }, 'removeFiles'],
  ['is deleted and whose removal is delayed', { status: 'ready', isRemoved: true, isClaimed: true }, 'wait'],
  ['has failed', { status: 'failed', parts: [ended] }, 'wait'],
]

describe('nextStep of a recording that', () => {
  it.each(CASES)('%s', (_, state, kind) => {
    expect(nextStep({ ...recording, ...state }).kind).toBe(kind)
  })

  it('is on a former media node of its session adds a part after its last one', () => {
    expect(nextStep({ ...recording, epoch: 2, parts: [ended, { ...part, part: 7 }] })).toEqual({
      kind: 'addPart',
      after: 7,
    })
  })

  it.each([
    [false, 'mediaServerDisconnect'],
    [true, 'notEnoughDisk'],
  ])('has five short parts stops with the cause as the reason (disk full: %s)', (isOutOfDisk, reason) => {
    const parts = short(5, 60_000).map((one) => ({ ...one, isOutOfDisk }))
    expect(nextStep({ ...recording, parts })).toEqual({ kind: 'stop', reason })
  })

  it('is stopped names the parts to abandon or to stop', () => {
    const parts = [ended, { ...part, part: 2 }, { ...lost, part: 3 }]
    expect(nextStep({ ...recording, status: 'stopped', parts })).toEqual({ kind: 'abandonParts', parts: [parts[2]] })
    expect(nextStep({ ...recording, status: 'stopped', parts: parts.slice(0, 2) })).toEqual({
      kind: 'requestStop',
      parts: [parts[1]],
    })
  })
})
