import { describe, expect, it } from '@jest/globals'
import { Vp8RtpPayload } from 'werift'
import { FrameReader } from './frame-reader.js'
import { descriptorBytes, readPayload, writeDescriptor } from './vp8-payload.js'
import { greyKeyFrame, repeatFrame } from './vp8-picture.js'

const SIZE = { width: 320, height: 180 }

function payload(frame: Buffer, start: boolean, temporal?: { id: number; tl0PicIdx: number; sync: boolean }): Buffer {
  const packet = Buffer.alloc(descriptorBytes(temporal !== undefined) + frame.length)
  const behind = writeDescriptor(packet, 0, { start, pictureId: 0x7abc, ...(temporal && { temporal }) })
  expect(behind).toBe(packet.length - frame.length)
  frame.copy(packet, behind)
  return packet
}

describe('VP8', () => {
  it('encodes frames of the requested size with correct headers', () => {
    const key = greyKeyFrame(SIZE, 200, 3000)
    expect(key).toHaveLength(3000)
    expect(greyKeyFrame(SIZE, 200).length).toBeLessThan(200)
    expect(greyKeyFrame(SIZE, 201)).not.toEqual(greyKeyFrame(SIZE, 200))
    expect(repeatFrame(SIZE, 700)).toHaveLength(700)
    expect(() => greyKeyFrame(SIZE, 128)).toThrow('luma 128 is not 16…119 or 137…235')
    expect(readPayload(payload(key, true))).toEqual({ start: true, key: true, temporalLayer: undefined, ...SIZE })
  })

  it('writes descriptors that another implementation parses', () => {
    const inter = payload(repeatFrame(SIZE), true, { id: 2, tl0PicIdx: 77, sync: true })
    expect(readPayload(inter)).toMatchObject({ start: true, key: false, temporalLayer: 2, width: undefined })
    const parsed = Vp8RtpPayload.deSerialize(inter)
    expect(parsed).toMatchObject({ sBit: 1, nBit: 1, pictureId: 0x7abc, payload: repeatFrame(SIZE) })
    expect(Vp8RtpPayload.deSerialize(payload(greyKeyFrame(SIZE, 50), true)).isKeyframe).toBe(true)
    expect(readPayload(payload(Buffer.from([0]), false))).toMatchObject({ start: false, key: false })
    expect(readPayload(Buffer.alloc(0))).toBeUndefined()
    expect(readPayload(Buffer.from([0x80]))).toBeUndefined()
  })

  it('counts complete frames', () => {
    const reader = new FrameReader()
    const first = payload(greyKeyFrame(SIZE, 50), true)
    const rest = payload(Buffer.from([1, 2, 3]), false)
    expect(reader.read(1, 10, rest, true)).toBeUndefined()
    expect(reader.read(2, 20, first, false)).toBeUndefined()
    expect(reader.read(4, 20, rest, true)).toBeUndefined()
    expect(reader.read(5, 30, first, false)).toBeUndefined()
    expect(reader.read(6, 30, rest, false)).toBeUndefined()
    expect(reader.read(7, 30, rest, true)).toBe('key')
    expect(reader.read(8, 40, payload(repeatFrame(SIZE), true), true)).toBe('inter')
    expect(reader).toMatchObject({ frames: 2, keyFrames: 1, ...SIZE })
  })

  it('counts a key frame that follows a frame without an end, as after a mute', () => {
    const reader = new FrameReader()
    const rest = payload(Buffer.from([1, 2, 3]), false)
    expect(reader.read(1, 10, payload(repeatFrame(SIZE), true), false)).toBeUndefined()
    expect(reader.read(2, 20, payload(greyKeyFrame(SIZE, 50), true), false)).toBeUndefined()
    expect(reader.read(3, 20, rest, true)).toBe('key')
    expect(reader.read(4, 30, payload(repeatFrame(SIZE), true), false)).toBeUndefined()
    expect(reader.read(5, 40, rest, true)).toBeUndefined()
  })
})
