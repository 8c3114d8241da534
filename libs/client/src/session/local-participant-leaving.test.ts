import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { until } from '../fixtures/manual-clock.js'

describe('a leaving participant', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())
  /** Leaves at a server that does not answer. */
  const leave = async (): Promise<{ isOver: boolean; over: Promise<void> }> => {
    testbed.server.answer('leave', () => 'silence')
    const leaving = { isOver: false, over: Promise.resolve() }
    leaving.over = testbed.participant.leave().then(() => void (leaving.isOver = true))
    await until('the server receives leave', () => testbed.server.calls('leave').length === 1)
    return leaving
  }
  const isClosed = () => testbed.server.last.readyState === 3

  it('emits sessionDisconnected at once, and resolves after the answer of the server', async () => {
    const leaving = await leave()
    expect(testbed.log).toEqual(['sessionDisconnected disconnect'])
    expect([leaving.isOver, isClosed()]).toEqual([false, false])
    testbed.server.send({ jsonrpc: '2.0', id: testbed.server.calls('leave')[0]?.id, result: {} })
    await leaving.over
    await until('the socket is closed', isClosed)
  })

  it('stops waiting for an unresponsive server after the timeout', async () => {
    const leaving = await leave()
    testbed.clock.pass(1_000)
    await leaving.over
    await until('the socket is closed', isClosed)
    expect(testbed.clock.pending).toBe(0)
  })
})

it.each([
  ['connectionCreated', ['connectionCreated con_own']],
  ['streamCreated', ['connectionCreated con_own', 'connectionCreated con_b', 'streamCreated str_b']],
])('a participant who leaves in a listener of %s while it joins gets no later event', async (name, before) => {
  const recordings = [{ id: 'rec_a', name: 'a' }]
  const testbed = await ParticipantTestbed.join({ recordings }, {}, 0, (emitted, participant) => {
    if (emitted === name) void participant.leave()
  })
  expect(testbed.eventsWhileJoining).toEqual([...before, 'sessionDisconnected disconnect'])
  await until('no timer is left', () => testbed.clock.pending === 0)
  await testbed.stop()
})
