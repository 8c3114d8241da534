import { describe, expect, it } from '@jest/globals'
import { sessionLimits } from './session-limits.js'

const configured = (participants: number, streams: number, duration: number) => ({
  SERVICE_SESSIONS_MAX_PARTICIPANTS: participants,
  SERVICE_SESSIONS_MAX_STREAMS: streams,
  SERVICE_SESSIONS_MAX_DURATION: duration,
})

describe('sessionLimits', () => {
  it.each([
    ['neither limits', undefined, 0, null],
    ['0 of the request is no limit', 0, 0, null],
    ['only the request limits', 7, 0, 7],
    ['only the configuration limits', undefined, 5, 5],
    ['0 of the request does not lift the configured limit', 0, 5, 5],
    ['the request is stricter', 3, 5, 3],
    ['the configuration is stricter', 9, 5, 5],
  ])('%s', (_, requested, property, limit) => {
    expect(
      sessionLimits(
        { maxParticipants: requested, maxStreamsPerParticipant: requested, maxDuration: requested },
        configured(property, property, property),
      ),
    ).toEqual({ maxParticipants: limit, maxStreams: limit, maxDuration: limit })
  })

  it('takes each limit from its own member and property', () => {
    expect(
      sessionLimits({ maxParticipants: 1, maxStreamsPerParticipant: 2, maxDuration: 3 }, configured(4, 5, 6)),
    ).toEqual({ maxParticipants: 1, maxStreams: 2, maxDuration: 3 })
    expect(sessionLimits({}, configured(4, 5, 6))).toEqual({ maxParticipants: 4, maxStreams: 5, maxDuration: 6 })
  })
})
