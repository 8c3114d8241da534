import { SIGNALLING_METHODS, type SignallingParams } from '@session-service/contract'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock, until } from '../fixtures/manual-clock.js'
import { Experience, playbackBetween } from './experience.js'

type Report = SignallingParams<'reportExperience'>
type Stats = Record<string, object>

let clock: ManualClock
let sent: Report[]
let recv: Stats
let experience: Experience
/** The number of reads of the statistics. */
let reads: number

const asReport = (stats: Stats): RTCStatsReport =>
  new Map(Object.entries(stats).map(([id, members]) => [id, { id, ...members }]))

function pair(local: object): Stats {
  return {
    failed: { type: 'candidate-pair', nominated: false, state: 'failed', localCandidateId: 'other' },
    used: { type: 'candidate-pair', nominated: true, state: 'succeeded', localCandidateId: 'own' },
    other: { type: 'local-candidate', candidateType: 'relay', protocol: 'udp' },
    own: { type: 'local-candidate', ...local },
  }
}
const video = (freezeCount: number, totalFreezesDuration: number): Stats => ({
  v1: { type: 'inbound-rtp', kind: 'video', freezeCount, totalFreezesDuration },
})

beforeEach(() => {
  clock = new ManualClock()
  sent = []
  recv = {}
  reads = 0
  experience = new Experience(
    { socketMs: 20, answerMs: 30 },
    {
      clock,
      media: {
        engine: {
          stats: async () => {
            reads++
            return { send: asReport({}), recv: asReport(recv) }
          },
        },
      },
      signalling: { report: (report) => sent.push(report) },
    },
  )
  experience.start()
})

/** Passes the time until the statistics are read, and waits until that has ended. */
async function pass(ms: number): Promise<void> {
  const before = reads
  clock.pass(ms)
  if (reads > before) await until('the next report is scheduled', () => clock.pending > 0)
}

describe('the report of a join', () => {
  it('contains the times of all steps, once', async () => {
    clock.pass(100)
    experience.stateChanged('connecting')
    const played = experience.subscribing()
    clock.pass(80)
    experience.stateChanged('connected')
    clock.pass(40)
    played()
    played()
    await pass(9_780)
    expect(sent).toEqual([{ join: { socketMs: 20, answerMs: 30, iceMs: 80, mediaMs: 120 } }])
    await pass(60_000)
    expect(sent).toHaveLength(1)
  })

  it('contains the first connection and the first subscription alone', async () => {
    experience.stateChanged('connecting')
    const [first, second] = [experience.subscribing(), experience.subscribing()]
    clock.pass(5)
    second()
    experience.stateChanged('connected')
    experience.stateChanged('connecting')
    clock.pass(5)
    first()
    experience.stateChanged('connected')
    await pass(9_990)
    expect(sent[0]?.join).toMatchObject({ iceMs: 5, mediaMs: 10 })
  })

  it('is within the limits of the service', async () => {
    experience.stateChanged('connecting')
    clock.pass(9_000)
    experience.stop()
    sent = []
    const slow = new Experience(
      { socketMs: 90_000, answerMs: 1e9 },
      {
        clock,
        media: { engine: { stats: () => Promise.reject(new Error('lost')) } },
        signalling: { report: (report) => sent.push(report) },
      },
    )
    slow.start()
    clock.pass(10_000)
    await until('the report is sent although the media is lost', () => sent.length > 0)
    expect(sent).toEqual([{ join: { socketMs: 60_000, answerMs: 60_000 } }])
    expect(SIGNALLING_METHODS.reportExperience[0].safeParse(sent[0]).success).toBe(true)
  })

  it.each([
    [{ candidateType: 'host', protocol: 'udp' }, 'udp'],
    [{ candidateType: 'srflx', protocol: 'tcp' }, 'tcp'],
    [{ candidateType: 'relay', protocol: 'udp' }, 'relay'],
    [{ candidateType: 'host', protocol: 'x' }, undefined],
  ])('names the selected candidate %j: %s', async (local, candidate) => {
    recv = pair(local)
    await pass(10_000)
    expect(sent[0]?.candidate).toBe(candidate)
  })

  it('is sent at an early end, once', async () => {
    clock.pass(9_999)
    experience.stop()
    experience.stop()
    clock.pass(60_000)
    expect([reads, sent]).toEqual([0, [{ join: { socketMs: 20, answerMs: 30 } }]])
  })

  it('does not start after its end', () => {
    experience.stop()
    experience.start()
    expect(clock.pending).toBe(0)
  })
})

describe('the report of received videos', () => {
  it('contains the freezes since the last report', async () => {
    recv = video(3, 2)
    await pass(10_000)
    expect(sent[0]?.playback).toBeUndefined()
    recv = video(5, 3.5)
    await pass(30_000)
    recv = video(5, 3.5)
    await pass(30_000)
    expect(sent.slice(1)).toEqual([
      { playback: { videoSeconds: 30, freezes: 2, frozenSeconds: 1.5 } },
      { playback: { videoSeconds: 30, freezes: 0, frozenSeconds: 0 } },
    ])
  })

  it.each<[string, [number, number][], [number, number][], object | undefined]>([
    [
      'adds all videos',
      [
        [1, 1],
        [0, 0],
      ],
      [
        [2, 4],
        [1, 2],
      ],
      { videoSeconds: 20, freezes: 2, frozenSeconds: 5 },
    ],
    [
      'omits videos that are new',
      [[1, 1]],
      [
        [1, 1],
        [9, 9],
      ],
      { videoSeconds: 10, freezes: 0, frozenSeconds: 0 },
    ],
    [
      'omits videos that have ended',
      [
        [1, 1],
        [9, 9],
      ],
      [[1, 1]],
      { videoSeconds: 10, freezes: 0, frozenSeconds: 0 },
    ],
    ['is absent without a video', [], [], undefined],
    ['never falls', [[5, 5]], [[1, 1]], { videoSeconds: 10, freezes: 0, frozenSeconds: 0 }],
    ['is limited', [[0, 0]], [[1e9, 1e9]], { videoSeconds: 10, freezes: 10_000, frozenSeconds: 7_200 }],
  ])('%s', (_, before, now, expected) => {
    const counts = (values: [number, number][]) =>
      new Map(values.map(([freezes, frozenSeconds], id) => [String(id), { freezes, frozenSeconds }]))
    expect(playbackBetween(counts(before), counts(now), 10)).toEqual(expected)
  })
})
