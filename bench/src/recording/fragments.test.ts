import { expect, test } from '@jest/globals'
import { isDecodable, wholeBoxes } from './fragments.js'

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

test('boxes one after the other, also those with a long size', () => {
  const file = Buffer.concat([box('ftyp'), longBox('mdat', 10), box('free', 0)])
  expect(wholeBoxes(file)).toEqual([
    { type: 'ftyp', from: 0, to: 12 },
    { type: 'mdat', from: 12, to: 38 },
    { type: 'free', from: 38, to: 46 },
  ])
})

test.each([
  ['nothing', [], false],
  ['only what the tracks are', [box('ftyp'), box('moov')], false],
  ['a fragment without its media', [box('moov'), box('moof')], false],
  ['half of its media', [box('moov'), box('moof'), box('mdat', 100).subarray(0, 60)], false],
  ['media that nobody describes', [box('moov'), box('mdat'), box('moof')], false],
  ['a whole fragment', [box('moov'), box('moof'), box('mdat')], true],
  [
    'a whole fragment and the beginning of the next',
    [box('moov'), box('moof'), box('mdat'), box('moof').subarray(0, 5)],
    true,
  ],
])('a file with %s', (_, boxes, decodable) => {
  expect(isDecodable(Buffer.concat(boxes))).toBe(decodable)
})
