import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { until } from '../fixtures/manual-clock.js'

describe('a participant who leaves', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())
  /** …at a server that does not answer that. */
  const leave = async (): Promise<{ isOver: boolean; over: Promise<void> }> => {
    testbed.server.answer('leave', () => 'silence')
    const leaving = { isOver: false, over: Promise.resolve() }
    leaving.over = testbed.participant.leave().then(() => void (leaving.isOver = true))
    await until('the server hears it', () => testbed.server.calls('leave').length === 1)
    return leaving
  }
  const isClosed = () => testbed.server.last.readyState === 3

  it('tells it here at once, and is out when the server says so', async () => {
    const leaving = await leave()
    expect(testbed.log).toEqual(['sessionDisconnected disconnect'])
    expect([leaving.isOver, isClosed()]).toEqual([false, false])
    testbed.server.send({ jsonrpc: '2.0', id: testbed.server.calls('leave')[0]?.id, result: {} })
    await leaving.over
    await until('the socket is closed', isClosed)
  })

  it('does not wait long for a server that says nothing', async () => {
    const leaving = await leave()
    testbed.clock.pass(1_000)
    await leaving.over
    await until('the socket is closed', isClosed)
    expect(testbed.clock.pending).toBe(0)
  })
})
