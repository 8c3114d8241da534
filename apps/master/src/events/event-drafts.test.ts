import type { DisconnectReason } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { departures, type EventDraft, mediaEnded, webrtcCreated, type WebrtcLink } from './event-drafts.js'

const session = { id: 'ses', uniqueSessionId: 'ses_1' }
const participant = (connectionId: string) => ({
  connectionId,
  activeAt: 1_000,
  location: null,
  ip: null,
  platform: null,
  clientData: null,
  serverData: '',
})
const link = (streamId: string, publisherId: string, connectionId: string): WebrtcLink => ({
  streamId,
  publisherId,
  connectionId,
  isInbound: publisherId !== connectionId,
  startTime: 1_000,
  mediaOptions: { hasAudio: true, hasVideo: false, filter: {} },
})
const both = [participant('alice'), participant('bob')]
const links = [
  link('b', 'bob', 'alice'),
  link('a', 'alice', 'bob'),
  link('a', 'alice', 'alice'),
  link('b', 'bob', 'bob'),
]

const CAMERA = {
  rtspUri: 'rtsp://camera.example/1',
  adaptativeBitrate: true,
  onlyPlayWithSubscribers: false,
  networkCache: 500,
}

const summary = (events: EventDraft[]): string[] =>
  events.map(({ name, payload }) =>
    'connection' in payload
      ? `${payload.connectionId} ${payload.connection} ${payload.streamId}`
      : `${'connectionId' in payload ? payload.connectionId : ''} ${name}`,
  )
const MEDIA = ['alice INBOUND b', 'bob INBOUND a', 'alice OUTBOUND a', 'bob OUTBOUND b']

describe('events for backends', () => {
  it('report the end of all media by participant, and no departure, when media is lost', () => {
    const events = mediaEnded(session, both, links, 'nodeCrashed', 3_500)
    expect(summary(events)).toEqual(MEDIA)
    expect(events.map(({ payload }) => payload)).toEqual(
      events.map(() => expect.objectContaining({ reason: 'nodeCrashed', startTime: 1_000, duration: 2 })),
    )
  })

  it.each<DisconnectReason>(['nodeCrashed', 'mediaServerDisconnect'])(
    'report the end of all media, then each departure, when a session ends with %s',
    (reason) => {
      const events = departures(session, both, links, reason, 2_000)
      expect(summary(events)).toEqual([...MEDIA, 'alice participantLeft', 'bob participantLeft'])
    },
  )

  it('describe the camera of a stream to its publisher and its receivers', () => {
    const { rtspUri, ...options } = CAMERA
    const mediaOptions = { hasAudio: false, hasVideo: true, typeOfVideo: 'IPCAM' as const, filter: {}, ...options }
    for (const receiver of ['camera', 'bob']) {
      const { payload } = webrtcCreated(session, { ...link('c', 'camera', receiver), mediaOptions, rtspUri })
      expect(payload).toMatchObject({ ...CAMERA, videoSource: 'IPCAM' })
    }
    const { payload } = webrtcCreated(session, link('a', 'alice', 'alice'))
    for (const member of Object.keys(CAMERA)) expect(payload).not.toHaveProperty(member)
  })

  it('report one participant after another, each after its media, when a session is closed', () => {
    expect(summary(departures(session, both, links, 'sessionClosedByServer', 2_000))).toEqual([
      ...MEDIA.slice(0, 3),
      'alice participantLeft',
      'bob OUTBOUND b',
      'bob participantLeft',
    ])
  })
})
