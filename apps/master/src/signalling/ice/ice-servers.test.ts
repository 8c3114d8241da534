import { loadMasterConfig } from '@session-service/config'
import { describe, expect, it } from '@jest/globals'
import { iceServersFor } from './ice-servers.js'
import { newTurnUsername, turnCredential } from './turn-credentials.js'

const NOW = 1_700_000_000_500
const config = (env: Record<string, string>) =>
  loadMasterConfig({ SERVICE_SECRET: 's', DATABASE_URL: 'postgres://db/x', ...env })

const CUSTOM = [{ url: 'turn:custom.example:443', username: 'u', credential: 'c' }]
const CONFIGURED = {
  SERVICE_WEBRTC_ICE_SERVERS: '["url=stun:all.example","url=turn:all.example,username=a,credential=b"]',
}
const OWN = { TURN_IP: '203.0.113.7', TURN_SHARED_SECRET_KEY: 'hush' }

describe('which ICE servers a client gets', () => {
  it.each([
    ['its own before all others', CUSTOM, { ...CONFIGURED, ...OWN }, ['turn:custom.example:443']],
    [
      'those configured for all before our TURN server',
      [],
      { ...CONFIGURED, ...OWN },
      ['stun:all.example', 'turn:all.example'],
    ],
    ['our TURN server, over UDP and TCP', [], OWN, ['turn:203.0.113.7:3478', 'turn:203.0.113.7:3478?transport=tcp']],
    [
      'our TURN server by its IPv6 address and port',
      [],
      { ...OWN, TURN_IP: '2001:db8::7', TURN_PORT: '443' },
      ['turn:[2001:db8::7]:443', 'turn:[2001:db8::7]:443?transport=tcp'],
    ],
    ['none where there is none', [], {}, []],
    ['its own where there is no other', CUSTOM, {}, ['turn:custom.example:443']],
  ])('%s', (_, custom, env, urls) => {
    expect(iceServersFor(custom, config(env), NOW).map(({ url }) => url)).toEqual(urls)
  })

  it('given ones as they are', () => {
    expect(iceServersFor(CUSTOM, config(OWN), NOW)).toEqual(CUSTOM)
    expect(iceServersFor([], config(CONFIGURED), NOW)).toEqual([
      { url: 'stun:all.example' },
      { url: 'turn:all.example', username: 'a', credential: 'b' },
    ])
  })
})

describe('credentials that expire', () => {
  it.each([
    ['our TURN server', OWN],
    ['a configured one with a secret', { SERVICE_WEBRTC_ICE_SERVERS: '["url=turn:a.example,staticAuthSecret=hush"]' }],
  ])('%s: a fresh name until the end of its time, and no secret', (_, env) => {
    const [first, again] = [1, 2].map(() => iceServersFor([], config({ ...env, TURN_CREDENTIALS_TTL: '300' }), NOW)[0])
    expect(first?.username).toMatch(/^1700000300:[A-Za-z0-9]{8}$/)
    expect(first?.credential).toBe(turnCredential(first?.username ?? '', 'hush'))
    expect(again?.username).not.toBe(first?.username)
    expect(JSON.stringify(first)).not.toContain('hush')
  })

  it('are what `openssl dgst -sha1 -hmac` gives', () => {
    expect(turnCredential('1700000300:abcdefgh', 'hush')).toBe('gzJo/xsdh+uoPLVch/dxMXn7dZ4=')
  })

  it('name the second they expire in', () => {
    expect(newTurnUsername(1_999)).toMatch(/^1:/)
  })
})
