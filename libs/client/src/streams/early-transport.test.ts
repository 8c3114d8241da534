import { afterEach, describe, expect, it } from '@jest/globals'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'

describe('the first subscription', () => {
  let testbed: ParticipantTestbed
  afterEach(() => testbed.stop())

  it('opens the receiving transport while its request is on its way to a distant server, and resumes its tracks', async () => {
    testbed = await ParticipantTestbed.join({}, {}, 40)
    const { established } = testbed.subscribe()
    await testbed.passUntil('the transport is opened', () => testbed.engines[0]?.openings === 1)
    await established
    expect(testbed.server.calls('subscribe')).toMatchObject([{ params: { streamId: 'str_b', paused: true } }])
    expect(testbed.server.calls('changeSubscription')).toMatchObject([{ params: { audio: true, video: true } }])
  })

  it('leaves the transport to its first track at a close server', async () => {
    testbed = await ParticipantTestbed.join({}, {}, 39)
    await testbed.subscribe().established
    testbed.clock.pass(1_000)
    expect(testbed.engines[0]?.openings).toBe(0)
    expect(testbed.server.calls('subscribe')[0]?.params).not.toHaveProperty('paused')
    expect(testbed.server.calls('changeSubscription')).toMatchObject([{ params: { video: true } }])
  })
})
