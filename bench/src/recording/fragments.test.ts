import { expect, it } from '@jest/globals'
import { isDecodable, completeBoxes } from './fragments.js'

function box(type: string, body = 4): Buffer {
  const bytes = Buffer.alloc(8 + body)
  bytes.writeUInt32BE(bytes.length, 0)
  bytes.write(type, 4, 'latin1')
  return bytes
}

function longBox(type: string, body = 4): Buffer {
  const bytes = Buffer.alloc(16 + body)
  bytes.writeUInt32BE(1, 0)
  bytes.write(type, 4, 'latin1')
  bytes.writeBigUInt64BE(BigInt(bytes.length), 8)
  return bytes
}

it('finds consecutive boxes, including those with a 64-bit size', () => {
  const file = Buffer.concat([box('ftyp'), longBox('mdat', 10), box('free', 0)])
  expect(completeBoxes(file)).toEqual([
    { type: 'ftyp', from: 0, to: 12 },
    { type: 'mdat', from: 12, to: 38 },
    { type: 'free', from: 38, to: 46 },
  ])
})

it.each([
  ['no content', [], false],
  ['only the description of the tracks', [box('ftyp'), box('moov')], false],
  ['a fragment without its media', [box('moov'), box('moof')], false],
  ['a fragment with half of its media', [box('moov'), box('moof'), box('mdat', 100).subarray(0, 60)], false],
  ['media before its fragment header', [box('moov'), box('mdat'), box('moof')], false],
  ['a complete fragment', [box('moov'), box('moof'), box('mdat')], true],
  [
    'a complete fragment and the beginning of the next',
    [box('moov'), box('moof'), box('mdat'), box('moof').subarray(0, 5)],
    true,
  ],
])('decides whether a file with %s is decodable', (_, boxes, decodable) => {
  expect(isDecodable(Buffer.concat(boxes))).toBe(decodable)
})
