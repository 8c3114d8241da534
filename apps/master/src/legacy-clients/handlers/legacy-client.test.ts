import { expect, it } from '@jest/globals'
import { SharedNotification } from '../../signalling/sockets/shared-notification.js'
import { LegacyClient, LegacyParticipant } from './legacy-client.js'

const flags = { audioActive: true, videoActive: true, frameRate: null, videoDimensions: null }
const options = { ...flags, typeOfVideo: 'CAMERA' as const }
const ownStream = (streamId: string) => ({ streamId, createdAt: 1, epoch: 1, options })

it('the end of a former stream of the client does not end its present one, which has the same name in version 2', () => {
  const client = new LegacyClient('serverStopped')
  client.participant = new LegacyParticipant('con_a', 'ses')
  client.participant.own = ownStream('str_CAM_new_con_a')
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

it('a stream that others end before the answer to its publication does not prevent the next one', () => {
  const participant = new LegacyParticipant('con_a', 'ses')
  const params = { streamId: 'str_CAM_aaaa_con_a', connectionId: 'con_a', reason: 'forceUnpublishByUser' as const }
  participant.observe({ method: 'streamDestroyed', params })
  expect(() => participant.published(ownStream('str_CAM_aaaa_con_a'))).toThrow('the stream has ended meanwhile')
  expect(participant.own).toBeUndefined()
  participant.published(ownStream('str_CAM_bbbb_con_a'))
  expect(participant.own).toBeDefined()
})

it('a client that may not have received the end of its stream gets it again, unless it publishes', () => {
  const client = new LegacyClient('serverStopped')
  const participant = (client.participant = new LegacyParticipant('con_a', 'ses'))
  const end = { streamId: 'str_CAM_x_con_a', connectionId: 'con_a', reason: 'forceUnpublishByUser' as const }
  const endStream = () => client.framesOf(new SharedNotification({ method: 'streamDestroyed', params: end }))
  const repair = () => participant.repair({ connections: [], streams: [], mediaEpoch: 1 })
  endStream()
  expect(repair()).toEqual([
    { method: 'participantUnpublished', params: { connectionId: 'con_a', reason: 'forceUnpublishByUser' } },
  ])
  endStream()
  participant.own = ownStream('str_CAM_y_con_a')
  expect(repair()).toEqual([])
  participant.own = undefined
  endStream()
  for (let nth = 0; nth < 3; nth += 1) client.pinged()
  expect(repair()).toEqual([])
})
