import { loadMasterConfig } from '@session-service/config'
import { describe, expect, it } from '@jest/globals'
import { digest, TokensService } from './tokens.service.js'

const service = (secret: string): TokensService =>
  new TokensService(
    loadMasterConfig({
      SERVICE_SECRET: secret,
      DATABASE_URL: 'postgres://localhost/x',
      SERVICE_PUBLICURL: 'https://video.example.org/',
    }),
  )

describe('TokensService', () => {
  it('F8: mints a token of at least 128 bits that cannot be derived from its row alone', () => {
    const tokens = service('one')
    const { token, nonce, hash } = tokens.mint('con_A')
    expect(token).toMatch(/^tok_[A-Z][A-Za-z0-9]{27}$/)
    expect(hash).toEqual(digest(token))
    expect(tokens.url('room', 'con_A', nonce)).toBe(
      `wss://video.example.org/service/signalling?sessionId=room&token=${token}`,
    )
    expect(service('two').url('room', 'con_A', nonce)).not.toContain(token)
  })

  it('F8: never mints the same token twice', () => {
    const tokens = service('one')
    const seen = new Set(Array.from({ length: 20_000 }, () => tokens.mint('con_A').token))
    expect(seen.size).toBe(20_000)
  })
})
