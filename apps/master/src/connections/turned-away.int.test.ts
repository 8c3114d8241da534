import { ServiceError } from '@session-service/contract'
import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { RecordingTestbed } from '../recordings/fixtures/recording-testbed.js'

/** With and without events the session's row is locked differently. */
describe.each([true, false])('who cannot be let in, events on: %s', (isOn) => {
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

  /** Bob's transports are being opened; what is called then lets that fail, and waits until he is told so. */
  async function beingLetIn(sessionId: string): Promise<() => Promise<void>> {
    const { token } = await testbed.stack.api.createConnection(sessionId)
    const bob = await testbed.stack.openSocket(token ?? '')
    const { promise, reject } = Promise.withResolvers<void>()
    testbed.node.commands.length = 0
    testbed.node.onCommand = (command) => (command === 'join' ? promise : undefined)
    const joined = expect(bob.join()).rejects.toMatchObject({ code: 'CONFLICT' })
    await until('the node is asked', () => testbed.node.callsOf('join').length > 0)
    return async () => {
      reject(new ServiceError('CONFLICT', 'not now'))
      await joined
      await bob.close()
    }
  }

  const dueOf = async (id: string): Promise<unknown> => {
    const [row] = await testbed.stack.postgres.query('SELECT autostop_at AS due FROM recording WHERE id = $1', [id])
    return row?.due
  }

  it('leaves a recorded session to those who may come back, as who leaves last', async () => {
    const { id, alice } = await testbed.createActiveSession()
    await testbed.start(id)
    const refuse = await beingLetIn(id)
    await alice.request('leave', {})
    expect(await dueOf(id)).toBeNull()
    await refuse()
    const due = await dueOf(id)
    expect(due).not.toBeNull()
    // The recording has its end by now: whoever fails again does not put it off.
    await (
      await beingLetIn(id)
    )()
    expect(await dueOf(id)).toEqual(due)
    await testbed.becomes(id, 'ready')
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    if (isOn) await testbed.expectEvents(id, 'started -', 'stopped automaticStop', 'ready automaticStop')
  })

  it('ends a session that is always recorded when the others have left', async () => {
    const { id, alice } = await testbed.createActiveSession({ recordingMode: 'ALWAYS' })
    await until('it is recorded', async () => (await testbed.get(id)).status === 'started')
    const refuse = await beingLetIn(id)
    await alice.request('leave', {})
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(200)
    await refuse()
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    await testbed.becomes(id, 'ready')
    await until('the node is told', () => testbed.node.callsOf('closeRoom').length > 0)
    if (isOn) await testbed.expectEvents(id, 'started -', 'stopped lastParticipantLeft', 'ready lastParticipantLeft')
  })

  it('ends nothing while others are in, nor where nobody was in before', async () => {
    const { id, alice } = await testbed.createActiveSession()
    await testbed.start(id)
    await (
      await beingLetIn(id)
    )()
    expect(await dueOf(id)).toBeNull()
    expect(await alice.waitFor('connectionDestroyed')).toMatchObject({ reason: 'networkDisconnect' })
    const { id: empty } = await testbed.stack.api.createSession()
    await (
      await beingLetIn(empty)
    )()
    expect((await testbed.stack.rest('GET', `/sessions/${empty}`)).status).toBe(200)
    expect((await testbed.stop(id)).status).toBe(200)
    await testbed.becomes(id, 'ready')
  })
})
