import { describe, expect, it } from '@jest/globals'
import { parseToken } from './token.js'

describe('parseToken', () => {
  it.each([
    ['wss://example.org/service/signalling?sessionId=tea&token=tok_a', 'tea', 'tok_a'],
    ['ws://127.0.0.1:4443/service/signalling?sessionId=a-b_C&token=tok_Z9', 'a-b_C', 'tok_Z9'],
    ['wss://[2001:db8::1]:8443/service/signalling?token=tok_a&sessionId=r', 'r', 'tok_a'],
  ])('parses %s', (text, sessionId, secret) => {
    expect(parseToken(text)).toEqual({ url: text, sessionId, secret })
    expect(parseToken(` ${text}\n`).url).toBe(text)
  })

  it.each([
    ['', /is empty/],
    ['tok_abc', /is not a URL/],
    ['https://example.org/service/signalling?sessionId=r&token=tok_a', /begins with https:/],
    ['wss://example.org/service/signalling?token=tok_a', /no "sessionId"/],
    ['wss://example.org/service/signalling?sessionId=r', /no "token"/],
    ['wss://example.org/service/signalling?sessionId=r&token=', /no "token"/],
  ])('names the problem of "%s"', (text, message) => {
    expect(() => parseToken(text)).toThrow(
      expect.objectContaining({ code: 'INVALID', message: expect.stringMatching(message) }),
    )
  })
})
