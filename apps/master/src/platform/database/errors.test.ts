import { describe, expect, it } from '@jest/globals'
import { errorClass, isBatchFault, isLockingBatchFault, isWriteRefusal } from './errors.js'

const failed = (code: string | undefined, message = 'failed'): Error => Object.assign(new Error(message), { code })

describe('the class of a failed query', () => {
  it.each<[string, Error, string]>([
    ['a canceled statement', failed('57014'), 'timeout'],
    ['a lock that was not granted in time', failed('55P03'), 'lock'],
    ['a transaction that was idle for too long', failed('25P03'), 'timeout'],
    ['a deadlock', failed('40P01'), 'conflict'],
    ['a serialization failure', failed('40001'), 'conflict'],
    ['a value that is too long', failed('22001'), 'data'],
    ['a duplicate key', failed('23505'), 'constraint'],
    ['too many connections', failed('53300'), 'resources'],
    ['a disk that does not work', failed('58030'), 'resources'],
    ['a server that shuts down', failed('57P01'), 'connection'],
    ['a refused connection', failed('ECONNREFUSED'), 'connection'],
    ['a lost connection', failed(undefined, 'Connection terminated unexpectedly'), 'connection'],
    ['a server that hangs', failed(undefined, 'Query read timeout'), 'timeout'],
    ['a standby, or a server that is set to read-only', failed('25006'), 'read-only'],
    ['a mistake in a statement', failed('42601'), 'other'],
  ])('%s', (_, error, expected) => {
    expect(errorClass(error)).toBe(expected)
  })
})

it.each([
  ['22001', true, true],
  ['23505', true, true],
  ['40P01', true, true],
  ['55P03', false, true],
  ['57014', false, false],
  ['ECONNREFUSED', false, false],
])('the items of a batch that failed with %s are tried one by one: %s, of one that locks rows: %s', (...row) => {
  const [code, ofBatch, ofLocking] = row
  expect([isBatchFault(failed(code)), isLockingBatchFault(failed(code))]).toEqual([ofBatch, ofLocking])
})

it.each([
  ['25006', true],
  ['53100', true],
  ['58030', true],
  ['53300', false],
  ['57P01', false],
  ['23505', false],
  ['ECONNREFUSED', false],
])('a query that failed with %s says that the server accepts no writes: %s', (code, expected) => {
  expect(isWriteRefusal(failed(code))).toBe(expected)
})
