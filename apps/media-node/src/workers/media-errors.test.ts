import { expect, it } from '@jest/globals'
import { ServiceError } from '@session-service/contract'
import { mediaError } from './media-errors.js'

const named = (name: string, message: string): Error => Object.assign(new Error(message), { name })

it('an error of mediasoup becomes a code and a message that names the operation', () => {
  expect(mediaError('the track', new TypeError('bad [method:produce]'))).toMatchObject({
    code: 'INVALID',
    message: 'the track: bad',
  })
  expect(mediaError('x', named('UnsupportedError', 'no codec'))).toMatchObject({ code: 'INVALID' })
  expect(mediaError('x', named('NotFoundError', 'no producer'))).toMatchObject({ code: 'NOT_FOUND' })
  expect(mediaError('x', named('WorkerClosedError', 'Channel closed'))).toMatchObject({ code: 'UNAVAILABLE' })
  expect(mediaError('x', new Error('strange'))).toMatchObject({ code: 'INTERNAL' })
  expect(mediaError('x', new Error('strange'), 'INVALID')).toMatchObject({ code: 'INVALID' })
  expect(mediaError('x', 'text')).toMatchObject({ code: 'INTERNAL' })
})

it('a ServiceError passes unchanged', () => {
  const own = new ServiceError('CONFLICT', 'twice')
  expect(mediaError('x', own)).toBe(own)
})
