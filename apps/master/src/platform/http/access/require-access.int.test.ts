import { HttpErrorFilter } from '@session-service/server-kit'
import { expect, it } from '@jest/globals'
import { BasicCredentials } from '../../authentication/basic-credentials.js'
import { BasicAuthGuard } from '../../authentication/basic-auth-guard.js'
import { createHttpAdapter } from '../http-adapter.js'
import type { AccessOf } from './require-access.js'

const adapterWith = (accessOf: AccessOf) =>
  createHttpAdapter({
    guard: new BasicAuthGuard(new BasicCredentials([])),
    errors: new HttpErrorFilter(),
    trustedProxies: [],
    accessOf,
  })

it('a route without a declared access ends the start, and the error names it', async () => {
  const adapter = adapterWith((method, path) => (method !== 'PUT' && path === '/declared' ? 'any' : undefined))
  const fastify = adapter.getInstance()
  for (const path of ['/declared', '/forgotten']) fastify.get(path, () => ({}))
  fastify.put('/declared', () => ({}))
  const listening = fastify.listen({ port: 0, host: '127.0.0.1' })
  await expect(listening).rejects.toThrow(/without a declared access: (?=.*GET \/forgotten)(?=.*PUT \/declared)/)
  await adapter.close()
})

it('a server starts when all of its routes declare their access', async () => {
  const adapter = adapterWith(() => 'any')
  adapter.getInstance().get('/declared', () => ({}))
  await expect(adapter.getInstance().listen({ port: 0, host: '127.0.0.1' })).resolves.toContain('127.0.0.1')
  await adapter.close()
})
