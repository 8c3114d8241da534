import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Logger } from '@nestjs/common'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { warnAboutUntrustedProxy } from './forwarded-headers.js'

const warnings: unknown[][] = []
let server: Server | undefined
let port = 0

beforeEach(() => {
  warnings.length = 0
  Logger.overrideLogger({ log: () => {}, error: () => {}, warn: (...line: unknown[]) => void warnings.push(line) })
})
afterEach(() => {
  Logger.overrideLogger(true)
  server?.closeAllConnections()
  server?.close()
})

async function serve(trustedProxies: readonly string[]): Promise<void> {
  server = createServer((_, response) => void response.end())
  server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n'))
  warnAboutUntrustedProxy(server, trustedProxies)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
}

async function ask(headers: Record<string, string>): Promise<void> {
  const [answer] = (await once(request({ host: '127.0.0.1', port, headers }).end(), 'response')) as [IncomingMessage]
  await once(answer.resume(), 'end')
}

const FORWARDED = { 'x-forwarded-for': '192.0.2.7' }
const UPGRADE = { connection: 'upgrade', upgrade: 'websocket' }

describe('warnAboutUntrustedProxy', () => {
  it('logs one warning with the address when X-Forwarded-For comes from an untrusted one', async () => {
    await serve(['10.0.0.0/8'])
    await ask({})
    expect(warnings).toEqual([])
    for (let i = 0; i < 3; i++) await ask(FORWARDED)
    expect(warnings).toEqual([[{ address: '127.0.0.1' }, expect.stringContaining('SERVICE_TRUSTED_PROXIES'), 'Http']])
  })

  it('logs it for a WebSocket upgrade as well, and not again for the requests that follow', async () => {
    await serve([])
    await ask({ ...FORWARDED, ...UPGRADE })
    await ask({ ...FORWARDED, ...UPGRADE })
    await ask(FORWARDED)
    expect(warnings).toHaveLength(1)
  })

  it('logs nothing when the proxy is trusted', async () => {
    await serve(['127.0.0.1'])
    await ask(FORWARDED)
    await ask({ ...FORWARDED, ...UPGRADE })
    expect(warnings).toEqual([])
  })
})
