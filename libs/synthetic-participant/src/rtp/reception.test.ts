import { describe, expect, it } from '@jest/globals'
import { Reception } from './reception.js'

const CLOCK = 1000

function arrive(reception: Reception, ...sequences: number[]): (number | undefined)[] {
  return sequences.map((sequence) => reception.arrive(reception.unroll(sequence), 0, 0).gapFrom)
}

describe('Reception', () => {
  it('counts across a wrap of the sequence number', () => {
    const reception = new Reception(CLOCK)
    arrive(reception, 65_534, 65_535, 0, 1)
    expect(reception).toMatchObject({ packets: 4, expected: 4, lost: 0, duplicates: 0 })
    expect(reception.unroll(2)).toBe(65_538)
    expect(reception.unroll(65_535)).toBe(65_535)
  })

  it('reports a gap once, and deducts late packets from the loss', () => {
    const reception = new Reception(CLOCK)
    expect(arrive(reception, 10, 11, 14, 15)).toEqual([undefined, undefined, 12, undefined])
    expect(reception.lost).toBe(2)
    expect(arrive(reception, 12)).toEqual([undefined])
    expect(reception.lost).toBe(1)
    expect(reception.has(12)).toBe(true)
    expect(reception.has(13)).toBe(false)
  })

  it('detects duplicates', () => {
    const reception = new Reception(CLOCK)
    arrive(reception, 10, 11, 10)
    expect(reception).toMatchObject({ packets: 2, duplicates: 1, lost: 0 })
  })

  it('reports the loss since the last report and the total loss', () => {
    const reception = new Reception(CLOCK)
    expect(reception.report(0)).toBeUndefined()
    arrive(reception, 1, 2, 4, 5)
    expect(reception.report(0)).toMatchObject({ fractionLost: Math.floor(256 / 5), packetsLost: 1, highestSequence: 5 })
    arrive(reception, 6)
    expect(reception.report(0)).toMatchObject({ fractionLost: 0, packetsLost: 1 })
    expect(reception.report(0)).toMatchObject({ fractionLost: 0 })
  })

  it('reports the time since the last sender report', () => {
    const reception = new Reception(CLOCK)
    arrive(reception, 1)
    expect(reception.report(0)).toMatchObject({ lastSenderReport: 0, delaySinceSenderReport: 0 })
    reception.senderReport(77, 1000)
    expect(reception.report(1500)).toMatchObject({ lastSenderReport: 77, delaySinceSenderReport: 32_768 })
  })

  it('measures jitter', () => {
    const reception = new Reception(CLOCK)
    reception.arrive(1, 0, 0)
    reception.arrive(2, 20, 20)
    expect(reception.report(0)?.jitter).toBe(0)
    // It arrives 160 ticks late, of which a sixteenth counts.
    reception.arrive(3, 40, 200)
    expect(reception.report(0)?.jitter).toBe(10)
  })
})
