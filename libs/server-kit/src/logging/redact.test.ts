import { describe, expect, it } from '@jest/globals'
import { redact, redactText } from './redact.js'

describe('redactText', () => {
  it.each([
    ['postgres://app:pa$$word@db:5432/x?y=1', 'postgres://app:***@db:5432/x?y=1'],
    ['at nats://:secret@bus:4222, twice: nats://a:b@c', 'at nats://:***@bus:4222, twice: nats://a:***@c'],
    ['ws://host/service/signalling?sessionId=a&token=tok_AbC123', 'ws://host/service/signalling?sessionId=a&token=***'],
    ['http://app:se@cret@host/path@here', 'http://app:***@host/path@here'],
    ['nats://a:se@cret@b,nats://c:d@e', 'nats://a:***@b,nats://c:***@e'],
    ['["http://a:secret@b","c@d"]', '["http://a:***@b","c@d"]'],
    ['after 1postgres://app:secret@db', 'after 1postgres://app:***@db'],
    [`a://${'u'.repeat(300)}:secret@b`, `a://${'u'.repeat(300)}:***@b`],
    ['joined with tok_AbC123.', 'joined with tok_***.'],
    ['resumeKey=abc&secret=def', 'resumeKey=***&secret=***'],
    ['https://host:443/path@here and user@example.org', 'https://host:443/path@here and user@example.org'],
    ['the token was used', 'the token was used'],
  ])('%s', (text, expected) => expect(redactText(text)).toBe(expected))

  it('does not search a long word again from each of its letters, which takes minutes', async () => {
    const word = 'a'.repeat(1_000_000)
    expect(redactText(word)).toBe(word)
    // Before the test is over, so that its time limit applies.
    await new Promise(setImmediate)
  })
})

describe('redact', () => {
  it('masks fields by their name, at any depth, and hides their length', () => {
    const given = {
      sessionId: 's',
      token: 'tok_1',
      headers: { authorization: 'Basic abc', Cookie: 'x=y', accept: '*/*' },
      list: [{ SERVICE_SECRET: 's3' }, { resumeKey: 'k', credential: 'c', password: '' }],
      secret: null,
      tokens: 3,
    }
    expect(redact(given)).toEqual({
      sessionId: 's',
      token: '***',
      headers: { authorization: '***', Cookie: '***', accept: '*/*' },
      list: [{ SERVICE_SECRET: '***' }, { resumeKey: '***', credential: '***', password: '' }],
      secret: null,
      tokens: 3,
    })
    expect(given.token).toBe('tok_1')
  })

  it('keeps the message, cause and fields of an error, without secrets', () => {
    const cause = Object.assign(new Error('connect to postgres://a:b@c failed'), {
      code: 'ECONNREFUSED',
      password: 'b',
    })
    const shown = redact({ err: new TypeError('outer', { cause }) })
    expect(shown).toMatchObject({ err: { type: 'TypeError', message: expect.stringContaining('outer') } })
    const text = JSON.stringify(redact({ err: cause })) + JSON.stringify(shown)
    expect(text).toContain('"code":"ECONNREFUSED"')
    expect(text).toContain('redact.test.')
    expect(text).not.toMatch(/a:b@c|"password":"b"/)
  })

  it.each([
    ['23502', 'Failing row contains (1, Ann).', '[row]'],
    ['23505', 'Key (id)=(con_1) already exists.', 'Key (id)=(con_1) already exists.'],
  ])('hides the values of a failed SQL statement with the code %s', (code, detail, shownDetail) => {
    const driverError = Object.assign(new Error('violates a constraint'), { code, detail })
    const fields = { query: 'INSERT INTO t VALUES ($1, $2)', parameters: [1, 'Ann'], code, detail, driverError }
    const failed = Object.assign(new Error('violates a constraint'), fields)
    const shown = redact({ err: Object.assign(new Error('outer'), { failed }) })
    for (const error of [redact(failed), (shown as { err: { failed: unknown } }).err.failed])
      expect(error).toMatchObject({
        message: 'violates a constraint',
        query: fields.query,
        parameters: '[2 values]',
        detail: shownDetail,
        driverError: { code, detail: shownDetail },
      })
    expect(JSON.stringify(shown)).not.toContain('Ann')
    expect(redact({ parameters: ['a'], detail: 'b' })).toEqual({ parameters: ['a'], detail: 'b' })
  })

  it('accepts cycles and values that JSON cannot represent', () => {
    const cycle: Record<string, unknown> = {
      big: 12n,
      when: new Date(0),
      url: new URL('http://a:b@c/'),
      bytes: Buffer.alloc(9),
    }
    cycle.self = cycle
    const shown = redact(cycle)
    expect(JSON.stringify(shown)).toContain('[object]')
    expect(shown).toMatchObject({
      big: '12',
      when: '1970-01-01T00:00:00.000Z',
      url: 'http://a:***@c/',
      bytes: '[9 bytes]',
    })
  })
})
