import { describe, expect, it } from '@jest/globals'
import { FrameReader } from './frame-reader.js'
import { readH264 } from './h264-payload.js'

const FIRST = 0x80
const bytes = (...values: number[]): Buffer => Buffer.from(values)
const aggregated = (...units: Buffer[]): Buffer =>
  Buffer.concat([bytes(24), ...units.flatMap((unit) => [bytes(0, unit.length), unit])])

describe('H.264 payloads', () => {
  it.each<[string, Buffer, object | undefined]>([
    ['a whole picture', bytes(1, FIRST, 0), { start: true, key: false }],
    ['a further slice', bytes(1, 0x40, 0), { start: false, key: false }],
    ['a key picture', bytes(5, FIRST, 0), { start: true, key: true }],
    [
      'parameter sets and a key picture',
      aggregated(bytes(7, 66), bytes(8, 1), bytes(5, FIRST)),
      { start: true, key: true },
    ],
    ['the begin of a fragmented picture', bytes(28, 0x81, FIRST), { start: true, key: false }],
    ['the begin of a fragmented key picture', bytes(28, 0x85, FIRST), { start: true, key: true }],
    ['a later fragment', bytes(28, 0x05, FIRST), { start: false, key: false }],
    ['a short packet', bytes(1), undefined],
  ])('%s', (_, payload, expected) => {
    if (expected) expect(readH264(payload)).toMatchObject(expected)
    else expect(readH264(payload)).toBeUndefined()
  })

  it('are counted as frames from their first packet to the marker', () => {
    const reader = new FrameReader('video/H264')
    expect(reader.read(1, 10, bytes(28, 0x45, 0), true)).toBeUndefined()
    expect(reader.read(2, 20, bytes(7, 66, 0), false)).toBeUndefined()
    expect(reader.read(3, 20, bytes(28, 0x85, FIRST), false)).toBeUndefined()
    expect(reader.read(4, 20, bytes(28, 0x45, 0), true)).toBe('key')
    expect(reader.read(5, 30, bytes(1, FIRST, 0), true)).toBe('inter')
    expect(reader.read(7, 40, bytes(1, 0x40, 0), true)).toBeUndefined()
    expect(reader).toMatchObject({ frames: 2, keyFrames: 1 })
  })
})
