import { loadMasterConfig } from '@session-service/config'
import { describe, expect, it } from '@jest/globals'
import { digest, TokensService } from './tokens.service.js'

const service = (secret: string, previous = ''): TokensService =>
  new TokensService(
    loadMasterConfig({
      SERVICE_SECRET: secret,
      SERVICE_SECRET_PREVIOUS: previous,
      DATABASE_URL: 'postgres://localhost/x',
      SERVICE_PUBLICURL: 'https://video.example.org/',
    }),
  )

describe('TokensService', () => {
  it('mints a token of at least 128 bits that cannot be derived from its row alone', () => {
    const tokens = service('one')
    const { token, nonce, hash } = tokens.mint('con_A')
    expect(token).toMatch(/^tok_[A-Z][A-Za-z0-9]{27}$/)
    expect(hash).toEqual(digest(token))
    const stored = { nonce, hash: hash.toString('hex') }
    expect(tokens.url('room', 'con_A', stored)).toBe(
      `wss://video.example.org/service/signalling?sessionId=room&token=${token}`,
    )
    expect(service('two').url('room', 'con_A', stored)).not.toContain(token)
  })

  it('shows the same token after its secret has become the previous one, and mints with the new one', () => {
    const { token, nonce, hash } = service('one').mint('con_A')
    const rotated = service('two', 'one')
    expect(rotated.url('room', 'con_A', { nonce, hash: hash.toString('hex') })).toContain(`token=${token}`)
    const minted = rotated.mint('con_A')
    const stored = { nonce: minted.nonce, hash: minted.hash.toString('hex') }
    for (const tokens of [rotated, service('two')])
      expect(tokens.url('room', 'con_A', stored)).toContain(`token=${minted.token}`)
  })

  it('never mints the same token twice', () => {
    const tokens = service('one')
    const seen = new Set(Array.from({ length: 20_000 }, () => tokens.mint('con_A').token))
    expect(seen.size).toBe(20_000)
  })
})
