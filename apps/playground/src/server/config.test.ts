import { describe, expect, it } from '@jest/globals'
import { readConfig } from './config.js'

describe('readConfig', () => {
  it('requires only the secret', () => {
    expect(readConfig({ SERVICE_SECRET: 's' })).toEqual({
      host: '0.0.0.0',
      port: 4444,
      hostNames: [],
      serviceUrl: 'http://localhost:4443',
      secret: 's',
      runAs: '',
    })
  })

  it('applies all variables', () => {
    const env = {
      PLAYGROUND_HOST: '127.0.0.1',
      PLAYGROUND_PORT: '8080',
      PLAYGROUND_HOSTNAMES: 'Demo.example.org, www.example.org',
      SERVICE_URL: 'https://example.org:4443/',
      SERVICE_SECRET: 's',
      SERVICE_RUN_AS: 'www-data',
    }
    expect(readConfig(env)).toEqual({
      host: '127.0.0.1',
      port: 8080,
      hostNames: ['demo.example.org', 'www.example.org'],
      serviceUrl: 'https://example.org:4443',
      secret: 's',
      runAs: 'www-data',
    })
  })

  it('lists all invalid variables', () => {
    const read = (): unknown =>
      readConfig({ PLAYGROUND_PORT: 'x', SERVICE_URL: 'ftp://example.org', SERVICE_RUN_AS: '-' })
    expect(read).toThrow(/^PLAYGROUND_PORT: .*\nSERVICE_URL: .*\nSERVICE_RUN_AS: .*\nSERVICE_SECRET: is mandatory/)
  })
})
