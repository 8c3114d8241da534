import { ServiceError } from '@session-service/contract'
import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { RecordingTestbed } from '../recordings/fixtures/recording-testbed.js'

/** With and without events the row of the session is locked differently. */
describe.each([true, false])('a failed join, with events: %s', (isOn) => {
  let testbed: RecordingTestbed

  beforeAll(async () => {
    testbed = await RecordingTestbed.open({
      SERVICE_RECORDING_AUTOSTOP_TIMEOUT: '5',
      ...(!isOn && { SERVICE_WEBHOOK: 'false', SERVICE_CDR: 'false' }),
    })
  })
  afterEach(async () => {
    testbed.node.onCommand = () => undefined
    await testbed.reset()
  })
  afterAll(() => testbed.close())

  /** Bob joins, and the node opens his transports. The returned function makes that fail and waits for the error. */
  async function startJoin(sessionId: string): Promise<() => Promise<void>> {
    const { token } = await testbed.stack.api.createConnection(sessionId)
    const bob = await testbed.stack.openSocket(token ?? '')
    const { promise, reject } = Promise.withResolvers<void>()
    testbed.node.commands.length = 0
    testbed.node.onCommand = (command) => (command === 'join' ? promise : undefined)
    const joined = expect(bob.join()).rejects.toMatchObject({ code: 'CONFLICT' })
    await until('the node has received join', () => testbed.node.callsOf('join').length > 0)
    return async () => {
      reject(new ServiceError('CONFLICT', 'not now'))
      await joined
      await bob.close()
    }
  }

  const autostopOf = async (id: string): Promise<unknown> => {
    const [row] = await testbed.stack.postgres.query('SELECT autostop_at AS at FROM recording WHERE id = $1', [id])
    return row?.at
  }

  it('schedules the automatic stop of the recording when all others have left', async () => {
    const { id, alice } = await testbed.createActiveSession()
    await testbed.start(id)
    const failJoin = await startJoin(id)
    await alice.request('leave', {})
    expect(await autostopOf(id)).toBeNull()
    await failJoin()
    const scheduled = await autostopOf(id)
    expect(scheduled).not.toBeNull()
    // The automatic stop is scheduled: another failed join does not postpone it.
    await (
      await startJoin(id)
    )()
    expect(await autostopOf(id)).toEqual(scheduled)
    await testbed.becomes(id, 'ready')
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    if (isOn) await testbed.expectEvents(id, 'started -', 'stopped automaticStop', 'ready automaticStop')
  })

  it('ends a session with recordingMode ALWAYS when all others have left', async () => {
    const { id, alice } = await testbed.createActiveSession({ recordingMode: 'ALWAYS' })
    await until('the session is recorded', async () => (await testbed.get(id)).status === 'started')
    const failJoin = await startJoin(id)
    await alice.request('leave', {})
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(200)
    await failJoin()
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    await testbed.becomes(id, 'ready')
    await until('the node has received closeRoom', () => testbed.node.callsOf('closeRoom').length > 0)
    if (isOn) await testbed.expectEvents(id, 'started -', 'stopped lastParticipantLeft', 'ready lastParticipantLeft')
  })

  it('ends a session without a recording when all others have left', async () => {
    const { id, alice } = await testbed.createActiveSession()
    const { id: bobId, token } = await testbed.stack.api.createConnection(id)
    const bob = await testbed.stack.openSocket(token ?? '')
    const failures: (() => void)[] = []
    testbed.node.onCommand = (command) => {
      if (command !== 'join') return undefined
      const { promise, reject } = Promise.withResolvers<void>()
      failures.push(() => reject(new ServiceError('CONFLICT', 'not now')))
      return promise
    }
    const bobFails = expect(bob.join()).rejects.toMatchObject({ code: 'CONFLICT' })
    await until('the node has received join', () => failures.length === 1)
    const carol = await testbed.stack.openSocket((await testbed.stack.api.createConnection(id)).token ?? '')
    const carolFails = expect(carol.join()).rejects.toMatchObject({ code: 'CONFLICT' })
    await until('the node has received both joins', () => failures.length === 2)
    await alice.request('leave', {})
    failures.pop()?.()
    await carolFails
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(200)
    failures.pop()?.()
    await bobFails
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    await until('the node has received closeRoom', () => testbed.node.callsOf('closeRoom').length > 0)
    if (isOn) {
      await until(
        'the end of the session is an event',
        () => testbed.sink.ofSession(id).at(-1)?.event.event === 'sessionDestroyed',
      )
      expect(
        testbed.sink
          .ofSession(id)
          .slice(-2)
          .map(({ event }) => event),
      ).toMatchObject([
        { event: 'participantLeft', connectionId: bobId, reason: 'networkDisconnect' },
        { event: 'sessionDestroyed', reason: 'lastParticipantLeft' },
      ])
    }
    await Promise.all([bob.close(), carol.close()])
  })

  it('ends a session whose recording kept it and was stopped during the join', async () => {
    const { id, alice } = await testbed.createActiveSession()
    await testbed.start(id)
    await alice.request('leave', {})
    const failJoin = await startJoin(id)
    expect((await testbed.stop(id)).status).toBe(200)
    await testbed.becomes(id, 'ready')
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(200)
    await failJoin()
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
  })

  it('is that of a participant that was removed before its socket could be notified', async () => {
    const { id, alice } = await testbed.createActiveSession()
    const { id: connectionId, token } = await testbed.stack.api.createConnection(id)
    const bob = await testbed.stack.openSocket(token ?? '')
    testbed.node.onCommand = async (command) => {
      if (command === 'join') await testbed.stack.postgres.query('DELETE FROM connection WHERE id = $1', [connectionId])
    }
    await expect(bob.join()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await testbed.stack.rest('POST', '/signal', { session: id, data: 'later' })
    await alice.waitFor('signal')
    expect(alice.received('connectionCreated')).toEqual([])
    await bob.close()
  })

  it('ends neither a session with other participants nor a session that never had any', async () => {
    const { id, alice } = await testbed.createActiveSession()
    await testbed.start(id)
    await (
      await startJoin(id)
    )()
    expect(await autostopOf(id)).toBeNull()
    expect(await alice.waitFor('connectionDestroyed')).toMatchObject({ reason: 'networkDisconnect' })
    const { id: empty } = await testbed.stack.api.createSession()
    await (
      await startJoin(empty)
    )()
    expect((await testbed.stack.rest('GET', `/sessions/${empty}`)).status).toBe(200)
    expect((await testbed.stop(id)).status).toBe(200)
    await testbed.becomes(id, 'ready')
  })
})
