import { describe, expect, it } from '@jest/globals'
import { inviteLink, readAddress, withSession } from './address.js'
import { SESSION_NAME } from '../text/names.js'

describe('the URL of the page', () => {
  it('contains the session and the other parameters', () => {
    expect(readAddress('?session=team-42&nickname=Ada&role=MODERATOR&autojoin=1')).toEqual({
      session: 'team-42',
      nickname: 'Ada',
      role: 'MODERATOR',
      autojoin: true,
    })
  })

  it.each(['', '?session=', '?session=a%20b', '?session=../x'])('"%s" gets a new session', (search) => {
    const { session, autojoin } = readAddress(search)
    expect(session).toMatch(SESSION_NAME)
    expect(session).not.toContain('.')
    expect(autojoin).toBe(false)
  })

  it('keeps the other parameters when the session changes', () => {
    expect(withSession('?nickname=Ada&session=old', 'new')).toBe('?nickname=Ada&session=new')
  })

  it('has no nickname in an invite link', () => {
    expect(inviteLink('https://example.org', '/', 'team-42')).toBe('https://example.org/?session=team-42')
  })
})
