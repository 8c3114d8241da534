import { expect, it } from '@jest/globals'
import { SharedNotification } from '../../signalling/sockets/shared-notification.js'
import { LegacyClient, LegacyParticipant } from './legacy-client.js'

it('the end of a former stream of the client does not end its present one, which has the same name in version 2', () => {
  const client = new LegacyClient('serverStopped')
  client.participant = new LegacyParticipant('con_a', 'ses')
  const flags = { audioActive: true, videoActive: true, frameRate: null, videoDimensions: null }
  const options = { ...flags, typeOfVideo: 'CAMERA' as const }
  client.participant.own = { streamId: 'str_CAM_new_con_a', createdAt: 1, epoch: 1, options }
  const framesAtEndOf = (streamId: string): unknown[] => {
    const params = { streamId, connectionId: 'con_a', reason: 'mediaServerDisconnect' as const }
    return client
      .framesOf(new SharedNotification({ method: 'streamDestroyed', params }))
      .map((frame): unknown => JSON.parse(frame))
  }
  expect(framesAtEndOf('str_CAM_old_con_a')).toEqual([])
  expect(client.participant.own).toBeDefined()
  expect(framesAtEndOf('str_CAM_new_con_a')).toMatchObject([
    { method: 'participantUnpublished', params: { connectionId: 'con_a', reason: 'mediaServerDisconnect' } },
  ])
  expect(client.participant.own).toBeUndefined()
})
