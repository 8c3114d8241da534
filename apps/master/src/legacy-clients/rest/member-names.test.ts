import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from '@jest/globals'
import { LEGACY_NODE_URIS, LEGACY_OPTIONS, legacyNames } from '../wire/names.js'
import { legacyAddresses } from './legacy-rest.js'
import { nativeMembers, renamedMembers, renamedStream } from './member-names.js'

const names = legacyNames('old')
const NATIVE = JSON.stringify({
  mediaserverOptions: { a: 1 },
  data: '"mediaserverOptions":',
  MEDIASERVER_URIS: [],
  SERVICE_CDR: 'SERVICE_CDR',
  é: '€',
})
const LEGACY = NATIVE.replace('"mediaserverOptions":{', `"${LEGACY_OPTIONS}":{`)
  .replace('"MEDIASERVER_URIS":', `"${LEGACY_NODE_URIS}":`)
  .replace('"SERVICE_CDR":', '"OLD_CDR":')

describe('the names of members', () => {
  it.each<[string, unknown, unknown]>([
    ['options', { [LEGACY_OPTIONS]: { a: 1 }, data: 'x' }, { mediaserverOptions: { a: 1 }, data: 'x' }],
    ['both names', { [LEGACY_OPTIONS]: 1, mediaserverOptions: 2 }, { mediaserverOptions: 1 }],
    [
      'configuration',
      { OLD_CDR: true, SERVICE_RECORDING: true, [LEGACY_NODE_URIS]: [] },
      { SERVICE_CDR: true, SERVICE_RECORDING: true, MEDIASERVER_URIS: [] },
    ],
    ['our own names', { mediaserverOptions: 2 }, { mediaserverOptions: 2 }],
    ['no body', undefined, undefined],
  ])('are read: %s', (_, body, expected) => {
    expect(nativeMembers(body, names)).toEqual(expected)
  })

  it('are written for members and never in values', () => {
    expect(renamedMembers(NATIVE, names)).toBe(LEGACY)
  })

  it.each([1, 2, 7, 1_000])('are written in pieces of %d bytes', async (size) => {
    const bytes = Buffer.from(`[${NATIVE},${NATIVE}]`)
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    expect(await text(Readable.from(pieces, { objectMode: false }).pipe(renamedStream(names)))).toBe(
      `[${LEGACY},${LEGACY}]`,
    )
  })
})

describe('legacyAddresses', () => {
  const addressOf = legacyAddresses(names)
  it.each([
    ['/old/api/sessions?a=/old/api', '/service/api/sessions?a=/old/api'],
    ['/old/recordings/r/r.mp4', '/service/recordings/r/r.mp4'],
    ['/old/dashboard', '/old/dashboard'],
    ['/old/apis', '/old/apis'],
    ['/older/api', '/older/api'],
    ['/service/api/old/api', '/service/api/old/api'],
  ])('%s is the address %s', (url, address) => {
    expect(addressOf({ url })).toBe(address)
  })
})
