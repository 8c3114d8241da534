import { describe, expect, it } from '@jest/globals'
import { BACKEND_EVENTS, endedByLast } from './events.js'

const common = { timestamp: 5, sessionId: 'a', uniqueSessionId: 'a_1' }

describe('backend events', () => {
  it('end a session with lastParticipantLeft only when the reason concerns its last participant alone', () => {
    expect(endedByLast('disconnect')).toBe('lastParticipantLeft')
    expect(endedByLast('networkDisconnect')).toBe('lastParticipantLeft')
    expect(endedByLast('forceDisconnectByUser')).toBe('lastParticipantLeft')
    expect(endedByLast('forceDisconnectByServer')).toBe('lastParticipantLeft')
    expect(endedByLast('nodeCrashed')).toBe('nodeCrashed')
    expect(endedByLast('sessionClosedByServer')).toBe('sessionClosedByServer')
  })

  it('reject unknown members', () => {
    expect(BACKEND_EVENTS.sessionCreated.safeParse(common).success).toBe(true)
    expect(BACKEND_EVENTS.sessionCreated.safeParse({ ...common, reason: 'x' }).success).toBe(false)
    const end = { ...common, startTime: 1, duration: 0 }
    expect(BACKEND_EVENTS.sessionDestroyed.safeParse({ ...end, reason: 'lastParticipantLeft' }).success).toBe(true)
    expect(BACKEND_EVENTS.sessionDestroyed.safeParse({ ...end, reason: 'unpublish' }).success).toBe(false)
  })
})
