import type { DisconnectReason } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { departures, type EventDraft, mediaEnded, type WebrtcLink } from './event-drafts.js'

const session = { id: 'ses', uniqueId: 'ses_1' }
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

const inShort = (events: EventDraft[]): string[] =>
  events.map(({ name, payload }) =>
    'streamId' in payload
      ? `${payload.connectionId} ${payload.connection} ${payload.streamId}`
      : `${'connectionId' in payload ? payload.connectionId : ''} ${name}`,
  )
const MEDIA = ['alice INBOUND b', 'bob INBOUND a', 'alice OUTBOUND a', 'bob OUTBOUND b']

describe('what backends are told', () => {
  it('when media is lost: all of it, by participant, and nobody has left', () => {
    const events = mediaEnded(session, both, links, 'nodeCrashed', 3_500)
    expect(inShort(events)).toEqual(MEDIA)
    expect(events.map(({ payload }) => payload)).toEqual(
      events.map(() => expect.objectContaining({ reason: 'nodeCrashed', startTime: 1_000, duration: 2 })),
    )
  })

  it.each<DisconnectReason>(['nodeCrashed', 'mediaServerDisconnect'])(
    'when a session ends with its media for %s: all media, then everybody',
    (reason) => {
      const events = departures(session, both, links, reason, 2_000)
      expect(inShort(events)).toEqual([...MEDIA, 'alice participantLeft', 'bob participantLeft'])
    },
  )

  it('when it is closed: one participant after another, each after its media', () => {
    expect(inShort(departures(session, both, links, 'sessionClosedByServer', 2_000))).toEqual([
      ...MEDIA.slice(0, 3),
      'alice participantLeft',
      'bob OUTBOUND b',
      'bob participantLeft',
    ])
  })
})
