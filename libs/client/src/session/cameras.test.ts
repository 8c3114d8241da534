import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '../fixtures/manual-clock.js'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { connectionInfo } from '../fixtures/samples.js'

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

  it('updates the state of the connection, and is emitted once for each state', async () => {
    const connection = testbed.participant.roster.connections.get('con_b')
    expect([connection?.cameraStatus, connection?.cameraError]).toEqual([null, null])
    const failed = { connectionId: 'con_b', status: 'reconnecting', error: 'the camera does not answer' } as const
    testbed.server.notify('cameraStatusChanged', failed)
    testbed.server.notify('cameraStatusChanged', failed)
    testbed.server.notify('cameraStatusChanged', { connectionId: 'con_b', status: 'playing', error: null })
    await until('the camera plays', () => connection?.cameraStatus === 'playing')
    expect(testbed.log).toEqual(['cameraStatusChanged con_b', 'cameraStatusChanged con_b'])
    expect(connection?.cameraError).toBeNull()
  })

  it('is not emitted for a connection that the client does not know', async () => {
    testbed.server.notify('cameraStatusChanged', { connectionId: 'con_unknown', status: 'idle', error: null })
    testbed.server.notify('cameraStatusChanged', { connectionId: 'con_b', status: 'idle', error: null })
    await testbed.waitForEvent('cameraStatusChanged con_b')
    expect(testbed.log).toEqual(['cameraStatusChanged con_b'])
  })
})

describe('a camera that is present', () => {
  const camera = connectionInfo('con_camera', { role: null, cameraStatus: 'playing', cameraError: null })
  const state = (testbed: ParticipantTestbed): unknown[] => {
    const connection = testbed.participant.roster.connections.get('con_camera')
    return [connection?.cameraStatus, connection?.cameraError]
  }

  it('has its state from the start, and a change that the client missed is emitted', async () => {
    const connections = [connectionInfo('con_own'), camera]
    const testbed = await ParticipantTestbed.join({ connections, streams: [] })
    expect(state(testbed)).toEqual(['playing', null])
    const failed = { ...camera, cameraStatus: 'reconnecting', cameraError: 'the camera does not answer' } as const
    const snapshot = { streams: [], mediaEpoch: 1 }
    testbed.server.notify('snapshot', { ...snapshot, connections })
    testbed.server.notify('snapshot', { ...snapshot, connections: [connectionInfo('con_own'), failed] })
    await testbed.waitForEvent('cameraStatusChanged con_camera')
    expect(state(testbed)).toEqual(['reconnecting', 'the camera does not answer'])
    expect(testbed.log.filter((name) => name.startsWith('cameraStatusChanged'))).toHaveLength(1)
    await testbed.stop()
  })

  it('keeps its state when the server does not send it', async () => {
    const testbed = await ParticipantTestbed.join({ connections: [connectionInfo('con_own'), camera], streams: [] })
    const { cameraStatus: _, cameraError: __, ...plain } = camera
    const connections = [connectionInfo('con_own'), plain, connectionInfo('con_late')]
    testbed.server.notify('snapshot', { connections, streams: [], mediaEpoch: 1 })
    await testbed.waitForEvent('connectionCreated con_late')
    expect(state(testbed)).toEqual(['playing', null])
    await testbed.stop()
  })
})
