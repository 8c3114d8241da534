import { type ErrorCode, type ErrorSubject, SIGNALLING_LIMITS } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { dimensionsOf, labelOf, LEGACY_CALLS, type LegacyMethod, tokenOf } from './calls.js'
import { legacyCode } from './errors.js'
import { legacyNames } from './names.js'

describe('the calls of version 2', () => {
  const messageTo = (count: number) => ({ message: { to: Array.from({ length: count }, () => 'con_a'), data: '' } })
  const dataOf = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  const nested = (depth: number) => ({ message: `{"data":${dataOf(depth)}}` })
  it.each<[string, LegacyMethod, object, object | undefined]>([
    [
      'parameters as text',
      'publishVideo',
      { sdpOffer: 'v=0', hasAudio: 'true', hasVideo: 'false', doLoopback: 'false', frameRate: '-1' },
      { sdpOffer: 'v=0', hasAudio: true, hasVideo: false, frameRate: -1 },
    ],
    ['null for an absent member', 'prepareReceiveVideoFrom', { sender: 'str_x', reconnect: null }, { sender: 'str_x' }],
    ['text that is no boolean', 'prepareReceiveVideoFrom', { sender: 'str_x', reconnect: 'yes' }, undefined],
    ['a reconnection without a stream', 'reconnectStream', { sdpString: 'v=0' }, { sdpString: 'v=0' }],
    [
      'a message as JSON text',
      'sendMessage',
      { message: '{"to":["con_a"],"data":"x","type":"signal:t"}' },
      { message: { to: ['con_a'], data: 'x', type: 'signal:t' } },
    ],
    [
      'a message of which data is an object',
      'sendMessage',
      { message: '{"data":{"a":1}}' },
      { message: { to: [], data: '{"a":1}' } },
    ],
    ['a message to as many as a signal may name', 'sendMessage', messageTo(SIGNALLING_LIMITS.signalRecipients), {}],
    ['a message to one more', 'sendMessage', messageTo(SIGNALLING_LIMITS.signalRecipients + 1), undefined],
    ['data as deep as a body of the REST API', 'sendMessage', nested(32), { message: { data: dataOf(32) } }],
    ['data one level deeper', 'sendMessage', nested(33), undefined],
    ['data that would overflow the stack', 'sendMessage', nested(100_000), undefined],
    ['a message that is no JSON', 'sendMessage', { message: '{' }, undefined],
    ['options as JSON text', 'applyFilter', { streamId: 's', type: 't', options: '{"a":1}' }, { options: { a: 1 } }],
    ['options as an object', 'applyFilter', { streamId: 's', type: 't', options: { a: 1 } }, { options: { a: 1 } }],
    ['any candidate', 'onIceCandidate', { candidate: '', sdpMLineIndex: '0' }, {}],
  ])('accept or refuse %s', (_, method, params, expected) => {
    const read = LEGACY_CALLS[method].safeParse(params)
    if (expected) expect(read.data).toMatchObject(expected)
    else expect(read.success).toBe(false)
  })

  it.each([
    ['wss://a.example/service/signalling?sessionId=room&token=tok_A', 'tok_A'],
    ['wss://a.example:4443?sessionId=room&token=tok_A&role=PUBLISHER', 'tok_A'],
    ['tok_A', 'tok_A'],
  ])('contain a token: %s', (given, token) => {
    expect(tokenOf(given)).toBe(token)
  })

  it.each<[unknown, string | undefined]>([
    ['{"height":480,"width":640}', '{"width":640,"height":480}'],
    [{ width: 640.4, height: 480 }, '{"width":640,"height":480}'],
    ['{"width":"640"}', undefined],
    ['no JSON', undefined],
    [undefined, undefined],
  ])('contain the dimensions %j', (given, expected) => {
    expect(dimensionsOf(given)).toBe(expected)
  })

  it.each<[unknown, string]>([
    [{ label: 'Camera 2' }, 'Camera 2'],
    ['{"label":"Camera 2"}', 'Camera 2'],
    [{ label: 'x'.repeat(600) }, 'x'.repeat(512)],
    [{}, ''],
    [undefined, ''],
  ])('contain the label of a track: %j', (given, expected) => {
    expect(labelOf(given)).toBe(expected)
  })
})

describe('legacyCode', () => {
  it.each<[ErrorCode, LegacyMethod, number, ErrorSubject | undefined]>([
    ['NOT_ALLOWED', 'forceDisconnect', 401, undefined],
    ['UNAUTHENTICATED', 'joinRoom', 401, undefined],
    ['NO_CAPACITY', 'joinRoom', 204, undefined],
    ['TIMEOUT', 'joinRoom', 204, undefined],
    ['UNAVAILABLE', 'joinRoom', 204, undefined],
    ['UNAVAILABLE', 'sendMessage', 999, undefined],
    ['NOT_FOUND', 'joinRoom', 202, 'session'],
    ['NOT_FOUND', 'forceDisconnect', 102, undefined],
    ['NOT_FOUND', 'forceUnpublish', 105, undefined],
    ['NOT_FOUND', 'prepareReceiveVideoFrom', 105, undefined],
    ['NOT_FOUND', 'subscribeToSpeechToText', 105, 'languageModel'],
    ['CONFLICT', 'publishVideo', 106, undefined],
    ['LIMIT_REACHED', 'publishVideo', 106, undefined],
    ['LIMIT_REACHED', 'subscribeToSpeechToText', 999, undefined],
    ['INVALID', 'publishVideo', 302, undefined],
    ['INVALID', 'sendMessage', 601, undefined],
    ['INVALID', 'forceDisconnect', -32_602, undefined],
    ['CODEC_REFUSED', 'publishVideo', 800, undefined],
    ['DISABLED', 'subscribeToSpeechToText', 996, undefined],
    ['INTERNAL', 'publishVideo', 999, undefined],
  ])('%s of %s is %s', (code, method, expected, subject) => {
    expect(legacyCode({ code, subject }, method)).toBe(expected)
  })
})

it('the names of version 2 follow from the prefix', () => {
  expect(legacyNames('old-name')).toEqual({
    prefix: 'old-name',
    socketPath: '/old-name',
    user: 'OLD-NAMEAPP',
    configPrefix: 'OLD_NAME_',
    serverStopped: 'old-nameServerStopped',
  })
})
