import { describe, expect, it } from '@jest/globals'
import { SESSION_NAME, friendlySessionName, hueOf, initials, nicknameOf, sessionNameOf } from './names.js'

describe('session names', () => {
  it('consist of two words and a number, and are valid for the service', () => {
    for (let i = 0; i < 500; i++) {
      const name = friendlySessionName()
      expect(name).toMatch(/^[a-z]+-[a-z]+-\d{3}$/)
      expect(name).toMatch(SESSION_NAME)
    }
    expect(friendlySessionName(() => 0)).toBe('amber-bay-100')
    expect(friendlySessionName(() => 0.9999)).toBe('warm-valley-999')
  })

  it.each([
    ['team-42', 'team-42'],
    ['  Weekly call! ', 'Weekly-call'],
    ['Café Zürich', 'Cafe-Zurich'],
    ['a/b\\c?d=1', 'a-b-c-d-1'],
    ['日本', ''],
    ['x'.repeat(200), 'x'.repeat(128)],
  ])('"%s" becomes "%s"', (typed, expected) => {
    expect(sessionNameOf(typed)).toBe(expected)
  })
})

describe('participants without video', () => {
  it.each([
    ['Ada Lovelace', 'AL'],
    ['ada', 'A'],
    ['Grace Brewster Murray Hopper', 'GH'],
    ['élodie-marie', 'ÉM'],
    ['', '?'],
    ['  ', '?'],
    ['😀 Smith', '😀S'],
  ])('"%s": %s', (name, expected) => {
    expect(initials(name)).toBe(expected)
  })

  it('always have the same colour', () => {
    expect(hueOf('Ada')).toBe(hueOf('Ada'))
    expect(new Set(['Ada', 'Grace', 'Alan', 'Edsger'].map(hueOf)).size).toBe(4)
  })
})

describe('nicknameOf', () => {
  it.each([
    ['{"nickname":"Ada"}', 'Ada'],
    ['{"nickname":5}', ''],
    ['{"name":"Ada"}', ''],
    ['null', ''],
    ['plain text', ''],
    ['', ''],
  ])('%s', (data, expected) => {
    expect(nicknameOf(data)).toBe(expected)
  })
})
