import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { connectionInfo } from '../fixtures/samples.js'

describe('networkQualityLevelChanged', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())

  it('is emitted with the connection and both levels, once for each level', async () => {
    const connection = testbed.participant.roster.connections.get('con_b')
    expect(connection?.networkQuality).toBeNull()
    for (const [newValue, oldValue] of [
      [5, undefined],
      [3, 5],
      [3, 5],
      [0, 3],
    ] as const)
      testbed.server.notify('networkQualityLevelChanged', { connectionId: 'con_b', newValue, ...{ oldValue } })
    testbed.server.notify('networkQualityLevelChanged', { connectionId: 'con_unknown', newValue: 1 })
    testbed.server.notify('connectionCreated', connectionInfo('con_late'))
    await testbed.waitForEvent('connectionCreated con_late')
    const changes = testbed.events.filter(({ name }) => name === 'networkQualityLevelChanged')
    expect(changes.map(({ event }) => event)).toEqual([
      { connection, newValue: 5, oldValue: null },
      { connection, newValue: 3, oldValue: 5 },
      { connection, newValue: 0, oldValue: 3 },
    ])
    expect(connection?.networkQuality).toBe(0)
  })

  it('is emitted for a change that the client missed', async () => {
    const connections = (level: number) => [
      connectionInfo('con_own'),
      connectionInfo('con_c', { networkQuality: level }),
    ]
    for (const level of [4, 2])
      testbed.server.notify('snapshot', { connections: connections(level), streams: [], mediaEpoch: 1 })
    await testbed.waitForEvent('networkQualityLevelChanged con_c')
    expect(testbed.events.at(-1)?.event).toMatchObject({ newValue: 2, oldValue: 4 })
  })
})
