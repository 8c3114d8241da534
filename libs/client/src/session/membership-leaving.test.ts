import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { LoneMember } from '../fixtures/lone-member.js'
import { until } from '../fixtures/manual-clock.js'

describe('a participant who leaves', () => {
  let lone: LoneMember
  beforeEach(async () => {
    lone = await LoneMember.join()
  })
  afterEach(() => lone.stop())
  /** …at a server that does not answer that. */
  const leave = async (): Promise<{ isOver: boolean; over: Promise<void> }> => {
    lone.server.answer('leave', () => 'silence')
    const leaving = { isOver: false, over: Promise.resolve() }
    leaving.over = lone.member.leave().then(() => void (leaving.isOver = true))
    await until('the server hears it', () => lone.server.calls('leave').length === 1)
    return leaving
  }
  const isClosed = () => lone.server.last.readyState === 3

  it('tells it here at once, and is out when the server says so', async () => {
    const leaving = await leave()
    expect(lone.log).toEqual(['sessionDisconnected disconnect'])
    expect([leaving.isOver, isClosed()]).toEqual([false, false])
    lone.server.send({ jsonrpc: '2.0', id: lone.server.calls('leave')[0]?.id, result: {} })
    await leaving.over
    await until('the socket is closed', isClosed)
  })

  it('does not wait long for a server that says nothing', async () => {
    const leaving = await leave()
    lone.clock.pass(1_000)
    await leaving.over
    await until('the socket is closed', isClosed)
    expect(lone.clock.pending).toBe(0)
  })
})
