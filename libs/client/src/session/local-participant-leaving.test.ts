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
  [
    'recordingStarted',
    ['connectionCreated con_own', 'connectionCreated con_b', 'streamCreated str_b', 'recordingStarted rec_a'],
  ],
])('a participant who leaves in a listener of %s while it joins gets no later event', async (name, before) => {
  const recordings = ['a', 'b'].map((each) => ({ id: `rec_${each}`, name: each }))
  const testbed = await ParticipantTestbed.join({ recordings }, {}, 0, (emitted, participant) => {
    if (emitted === name) void participant.leave()
  })
  expect(testbed.eventsWhileJoining).toEqual([...before, 'sessionDisconnected disconnect'])
  await until('no timer is left', () => testbed.clock.pending === 0)
  await testbed.stop()
})

it.each([
  ['reconnected', ['reconnecting', 'reconnected']],
  ['connectionDestroyed', ['reconnecting', 'reconnected', 'connectionDestroyed con_b disconnect']],
  [
    'recordingStopped',
    [
      'reconnecting',
      'reconnected',
      'connectionDestroyed con_b disconnect',
      'recordingStopped rec_a recordingStoppedByServer',
    ],
  ],
])('a participant who leaves in a listener of %s after a lost socket gets no later event', async (name, before) => {
  const recordingOf = (each: string) => ({ id: `rec_${each}`, name: each })
  const testbed = await ParticipantTestbed.join(
    { streams: [], recordings: [recordingOf('a')] },
    {},
    0,
    (emitted, participant) => {
      if (emitted === name) void participant.leave()
    },
  )
  const { connections } = testbed.snapshot
  testbed.snapshot = { ...testbed.snapshot, connections: connections.slice(0, 1), recordings: [recordingOf('b')] }
  testbed.server.last.terminate()
  await testbed.waitForEvent('sessionDisconnected disconnect')
  await testbed.passUntil('no timer is left', () => testbed.clock.pending === 0)
  expect(testbed.log).toEqual([...before, 'sessionDisconnected disconnect'])
  await testbed.stop()
})
