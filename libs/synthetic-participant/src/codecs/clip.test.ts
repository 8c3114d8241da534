import { describe, expect, it } from '@jest/globals'
import { type Clip, ClipPlayer, makeClip, parseIvf, parseOgg } from './clip.js'

const KEY = Buffer.from([0x10, 1])
const INTER = Buffer.from([0x11, 2])

/** Encodes an IVF file like `ffmpeg -f ivf`. */
function ivf(...frames: Buffer[]): Buffer {
  const header = Buffer.alloc(32)
  header.write('DKIF', 0, 'latin1')
  header.writeUInt16LE(32, 6)
  header.write('VP80', 8, 'latin1')
  header.writeUInt16LE(320, 12)
  header.writeUInt16LE(180, 14)
  header.writeUInt32LE(25, 16)
  header.writeUInt32LE(1, 20)
  return Buffer.concat([header, ...frames.flatMap((frame) => [frameHeader(frame.length), frame])])
}

function frameHeader(size: number): Buffer {
  const header = Buffer.alloc(12)
  header.writeUInt32LE(size, 0)
  return header
}

/** Encodes an Ogg page with segments of these sizes. */
function page(pieces: readonly number[], body: Buffer): Buffer {
  const header = Buffer.alloc(27)
  header.write('OggS', 0, 'latin1')
  header[26] = pieces.length
  return Buffer.concat([header, Buffer.from(pieces), body])
}

describe('files of a clip', () => {
  it('parses frames, key frames, size and frame rate', () => {
    expect(parseIvf(ivf(KEY, INTER))).toEqual({
      frames: [
        { data: KEY, key: true },
        { data: INTER, key: false },
      ],
      fps: 25,
      width: 320,
      height: 180,
    })
  })

  it('rejects files of another format', () => {
    expect(() => parseIvf(Buffer.alloc(40))).toThrow('not an IVF file')
    expect(() => parseOgg(Buffer.alloc(40))).toThrow('not an Ogg page at 0')
  })

  it('joins packets that span segments and pages', () => {
    const long = Buffer.alloc(300, 7)
    const over = Buffer.alloc(260, 8)
    const pages = [
      page([1, 255, 45, 255], Buffer.concat([Buffer.from([9]), long, over.subarray(0, 255)])),
      page([5], over.subarray(255)),
    ]
    expect(parseOgg(Buffer.concat(pages))).toEqual([Buffer.from([9]), long, over])
  })

  it('cuts video and audio to whole seconds', () => {
    const picture = { frames: Array.from({ length: 60 }, () => ({ data: KEY, key: true })), fps: 25, ...SIZE }
    const clip = makeClip(picture, Array<Buffer>(101).fill(INTER))
    expect([clip.frames.length, clip.packets.length]).toEqual([50, 100])
    expect(() => makeClip(picture, [INTER])).toThrow('must last at least a second')
  })
})

const SIZE = { width: 320, height: 180 }
/** k i i k i */
const clip: Clip = {
  frames: [true, false, false, true, false].map((key) => ({ data: key ? KEY : INTER, key })),
  fps: 25,
  ...SIZE,
  packets: [INTER],
}

describe('ClipPlayer', () => {
  it.each([
    ['plays in order and in a loop', [0, 40, 80, 120, 160, 200, 240], 'kiikiki'],
    ['skips frames after a missing frame until the next key frame', [0, 80, 120, 160], 'k-ki'],
    ['tolerates a small delay', [4, 47, 83], 'kii'],
    ['starts with a key frame', [40, 80, 120], '--k'],
  ])('%s', (_, times, sent) => {
    const player = new ClipPlayer(clip)
    expect(times.map((at) => letter(player.at(at))).join('')).toBe(sent)
  })
})

const letter = (frame: { key: boolean } | undefined): string => (frame ? (frame.key ? 'k' : 'i') : '-')
