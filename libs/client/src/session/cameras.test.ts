import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'

describe('cameraStatusChanged', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())

  it('is emitted with the connection of the camera, its status and its error', async () => {
    const state = { status: 'reconnecting', error: 'the camera does not answer' } as const
    testbed.server.notify('cameraStatusChanged', { connectionId: 'con_b', ...state })
    await testbed.waitForEvent('cameraStatusChanged con_b')
    const connection = testbed.participant.roster.connections.get('con_b')
    expect(testbed.events.at(-1)).toEqual({ name: 'cameraStatusChanged', event: { connection, ...state } })
  })

  it('is not emitted for a connection that the client does not know', async () => {
    testbed.server.notify('cameraStatusChanged', { connectionId: 'con_unknown', status: 'idle', error: null })
    testbed.server.notify('cameraStatusChanged', { connectionId: 'con_b', status: 'idle', error: null })
    await testbed.waitForEvent('cameraStatusChanged con_b')
    expect(testbed.log).toEqual(['cameraStatusChanged con_b'])
  })
})
