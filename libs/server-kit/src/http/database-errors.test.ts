import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { Pool } from 'pg'
import { translateDatabaseError } from './database-errors.js'

const withCode = (code: string): Error => Object.assign(new Error('driver says no'), { code })

describe('translateDatabaseError', () => {
  it.each([
    '08000',
    '08006',
    '57P01',
    '57P02',
    '57P03',
    '55P03',
    '57014',
    '25006',
    '40P01',
    '40001',
    '53300',
    '53100',
    '58000',
    '58030',
    'ECONNREFUSED',
    'ETIMEDOUT',
  ])('translates %s to UNAVAILABLE, also as a cause', (code) => {
    const error = withCode(code)
    const wrapped = Object.assign(new Error('query failed'), { driverError: error })
    for (const given of [error, wrapped, new Error('outer', { cause: wrapped })])
      expect(translateDatabaseError(given)).toMatchObject({ code: 'UNAVAILABLE', cause: given })
  })

  it('translates the refusal of a standby to read an unlogged table to UNAVAILABLE, no other unsupported feature', () => {
    const refusal = (routine: string): Error => Object.assign(withCode('0A000'), { routine })
    expect(translateDatabaseError(refusal('get_relation_info'))).toMatchObject({ code: 'UNAVAILABLE' })
    expect(translateDatabaseError(refusal('RevalidateCachedQuery'))).toBeUndefined()
    expect(translateDatabaseError(withCode('0A000'))).toBeUndefined()
  })

  it('translates a connection lost within a transaction to UNAVAILABLE', () => {
    for (const message of [
      'Database connection provided by a query runner was already released, cannot continue to use its methods.',
      'Query runner already released. Cannot run queries anymore.',
    ])
      expect(translateDatabaseError(new Error(message))).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it.each(['22021', '22P05'])('translates %s to INVALID, also as a cause', (code) => {
    const wrapped = Object.assign(new Error('query failed'), { driverError: withCode(code) })
    for (const given of [withCode(code), wrapped])
      expect(translateDatabaseError(given)).toMatchObject({ code: 'INVALID', cause: given })
  })

  it.each([['23505'], ['42P01'], ['22P02']])('does not translate %s', (code) => {
    expect(translateDatabaseError(withCode(code))).toBeUndefined()
  })

  it.each([[undefined], [null], ['text'], [new Error('something else')], [{ code: 8000 }]])(
    'does not translate %s, which has no code',
    (error) => {
      expect(translateDatabaseError(error)).toBeUndefined()
    },
  )

  it('accepts an error that is its own cause', () => {
    const error = new Error('round')
    error.cause = error
    expect(translateDatabaseError(error)).toBeUndefined()
  })
})

describe('a connection error of the driver', () => {
  const sockets: Socket[] = []
  let server: Server | undefined
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    if (!server?.listening) return
    server.close()
    await once(server, 'close')
  })

  async function listen(onSocket: (socket: Socket) => void): Promise<number> {
    server = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined))
      onSocket(socket)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  async function failure(port: number): Promise<unknown> {
    const pool = new Pool({ host: '127.0.0.1', port, user: 'u', connectionTimeoutMillis: 200 })
    const error: unknown = await pool.query('SELECT 1').catch((caught: unknown) => caught)
    await pool.end()
    return error
  }

  it('is UNAVAILABLE when the port is closed', async () => {
    const port = await listen(() => undefined)
    server?.close()
    expect(translateDatabaseError(await failure(port))).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('is UNAVAILABLE when the server does not answer', async () => {
    const port = await listen(() => undefined)
    expect(translateDatabaseError(await failure(port))).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('is UNAVAILABLE when the server closes the connection', async () => {
    const port = await listen((socket) => socket.end())
    expect(translateDatabaseError(await failure(port))).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('is UNAVAILABLE when the pool is closed', async () => {
    const pool = new Pool()
    await pool.end()
    const error: unknown = await pool.query('SELECT 1').catch((caught: unknown) => caught)
    expect(translateDatabaseError(error)).toMatchObject({ code: 'UNAVAILABLE' })
  })
})
