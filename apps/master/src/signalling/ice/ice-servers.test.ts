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

describe('iceServersFor', () => {
  it.each([
    ['prefers those of the connection', CUSTOM, { ...CONFIGURED, ...OWN }, ['turn:custom.example:443']],
    [
      'prefers configured ones to the own TURN server',
      [],
      { ...CONFIGURED, ...OWN },
      ['stun:all.example', 'turn:all.example'],
    ],
    [
      'gives the own TURN server over UDP and TCP',
      [],
      OWN,
      ['turn:203.0.113.7:3478', 'turn:203.0.113.7:3478?transport=tcp'],
    ],
    [
      'gives the own TURN server with an IPv6 address and a port',
      [],
      { ...OWN, TURN_IP: '2001:db8::7', TURN_PORT: '443' },
      ['turn:[2001:db8::7]:443', 'turn:[2001:db8::7]:443?transport=tcp'],
    ],
    ['gives none when none exists', [], {}, []],
    ['gives those of the connection when no other exists', CUSTOM, {}, ['turn:custom.example:443']],
  ])('%s', (_, custom, env, urls) => {
    expect(iceServersFor(custom, config(env), NOW).map(({ url }) => url)).toEqual(urls)
  })

  it('gives static credentials unchanged', () => {
    expect(iceServersFor(CUSTOM, config(OWN), NOW)).toEqual(CUSTOM)
    expect(iceServersFor([], config(CONFIGURED), NOW)).toEqual([
      { url: 'stun:all.example' },
      { url: 'turn:all.example', username: 'a', credential: 'b' },
    ])
  })
})

describe('expiring TURN credentials', () => {
  it.each([
    ['the own TURN server', [], OWN],
    [
      'a configured server with a secret',
      [],
      { SERVICE_WEBRTC_ICE_SERVERS: '["url=turn:a.example,staticAuthSecret=hush"]' },
    ],
    ['a server of the connection with a secret', [{ url: 'turn:b.example', staticAuthSecret: 'hush' }], OWN],
  ])('of %s have a new user name with the expiry each time, and do not contain the secret', (_, custom, env) => {
    const [first, again] = [1, 2].map(
      () => iceServersFor(custom, config({ ...env, TURN_CREDENTIALS_TTL: '300' }), NOW)[0],
    )
    expect(Object.keys(first ?? {})).toEqual(['url', 'username', 'credential'])
    expect(first?.username).toMatch(/^1700000300:[A-Za-z0-9]{8}$/)
    expect(first?.credential).toBe(turnCredential(first?.username ?? '', 'hush'))
    expect(again?.username).not.toBe(first?.username)
    expect(JSON.stringify(first)).not.toContain('hush')
  })

  it('match `openssl dgst -sha1 -hmac`', () => {
    expect(turnCredential('1700000300:abcdefgh', 'hush')).toBe('gzJo/xsdh+uoPLVch/dxMXn7dZ4=')
  })

  it('contain the second of their expiry', () => {
    expect(newTurnUsername(1_999)).toMatch(/^1:/)
  })
})
