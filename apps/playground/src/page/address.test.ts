import { describe, expect, it } from '@jest/globals'
import { inviteLink, readAddress, withSession } from './address.js'
import { SESSION_NAME } from './names.js'

describe('the address', () => {
  it('names the session, and what else was wished', () => {
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

  it('keeps what else it holds when the session changes', () => {
    expect(withSession('?nickname=Ada&session=old', 'new')).toBe('?nickname=Ada&session=new')
  })

  it('invites others without one’s own name', () => {
    expect(inviteLink('https://example.org', '/', 'team-42')).toBe('https://example.org/?session=team-42')
  })
})
