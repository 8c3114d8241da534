import { describe, expect, it } from '@jest/globals'
import { RtcpPacketConverter, RtcpTransportLayerFeedback, StatusVectorChunk, TransportWideCC } from 'werift'
import { TransportFeedback } from './transport-feedback.js'

const START_MS = 100_000

/** Parses feedback with another implementation: sequence number and arrival in ms, undefined for a loss. */
function read(packets: Buffer[]): [number, number | undefined][] {
  return packets.flatMap((packet) => {
    const [parsed] = RtcpPacketConverter.deSerialize(packet)
    if (!(parsed instanceof RtcpTransportLayerFeedback) || !(parsed.feedback instanceof TransportWideCC))
      throw new Error('no transport-wide feedback')
    const { packetChunks, recvDeltas, packetStatusCount, baseSequenceNumber, referenceTime } = parsed.feedback
    const symbols = packetChunks.flatMap((chunk) => (chunk instanceof StatusVectorChunk ? chunk.symbolList : []))
    const deltas = recvDeltas.map(({ delta }) => delta / 1000)
    let at = referenceTime * 64
    return symbols.slice(0, packetStatusCount).map((symbol, index): [number, number | undefined] => {
      const sequence = (baseSequenceNumber + index) & 0xffff
      return [sequence, symbol === 0 ? undefined : (at += deltas.shift() ?? NaN)]
    })
  })
}

describe('transport-wide feedback', () => {
  it('reports each arrival and loss once', () => {
    const feedback = new TransportFeedback(undefined)
    expect(feedback.take(1, 2, START_MS)).toEqual([])
    for (const [sequence, at] of [
      [65_534, 0],
      [65_535, 1.5],
      [2, 90],
      [1, 91],
    ] as const)
      feedback.arrive(sequence, 100, START_MS + at)
    const told = read(feedback.take(1, 2, START_MS + 100))
    const first = told[0]?.[1] ?? NaN
    expect(told.map(([sequence, at]) => [sequence, at === undefined ? at : at - first])).toEqual([
      [65_534, 0],
      [65_535, 1.5],
      [0, undefined],
      [1, 91],
      [2, 90],
    ])
    expect(feedback.take(1, 2, START_MS + 200)).toEqual([])
    feedback.arrive(5, 100, START_MS + 300)
    expect(read(feedback.take(1, 2, START_MS + 300)).map(([sequence, at]) => [sequence, at !== undefined])).toEqual([
      [3, false],
      [4, false],
      [5, true],
    ])
  })

  it('starts another packet after a pause that exceeds the range of a delta', () => {
    const feedback = new TransportFeedback(undefined)
    feedback.arrive(1, 100, START_MS)
    feedback.arrive(2, 100, START_MS + 30_000)
    const packets = feedback.take(1, 2, START_MS + 30_000)
    expect(packets).toHaveLength(2)
    expect(read(packets).map(([sequence]) => sequence)).toEqual([1, 2])
  })

  it('reports the times and losses of a narrow link', () => {
    // 80 kbps: a packet of 1000 bytes takes 100 ms.
    const feedback = new TransportFeedback(80)
    for (let sequence = 1; sequence <= 10; sequence++) feedback.arrive(sequence, 1000, START_MS)
    expect(read(feedback.take(1, 2, START_MS + 250)).map(([sequence]) => sequence)).toEqual([1, 2])
    feedback.arrive(11, 1000, START_MS + 2000)
    const told = read(feedback.take(1, 2, START_MS + 3000))
    const times = told.map(([, at]) => at)
    expect(told.map(([sequence]) => sequence)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11])
    // Five packets fill the queue of 400 ms; the others are dropped.
    expect(times.map((at) => at !== undefined)).toEqual([true, true, true, false, false, false, false, false, true])
    expect((times[1] ?? NaN) - (times[0] ?? NaN)).toBe(100)
  })
})
