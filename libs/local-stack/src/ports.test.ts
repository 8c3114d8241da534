import { createServer, type Server } from 'node:net'
import { afterEach, expect, it } from '@jest/globals'
import { freePortFrom, freePorts, isFree, listeningInodes, portHolder, portRange } from './ports.js'

const servers: Server[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done)))))

const listen = (port: number): Promise<void> =>
  new Promise((resolve) => servers.push(createServer().listen(port, '127.0.0.1', resolve)))

it('freePorts returns different ports that can be bound', async () => {
  const ports = await freePorts(5)
  expect(new Set(ports).size).toBe(5)
  for (const port of ports) await listen(port)
  expect(await Promise.all(ports.map((port) => isFree(port, '127.0.0.1')))).toEqual(ports.map(() => false))
})

it('a port with a listener is not free, and portHolder names its process', async () => {
  const [port = 0] = await freePorts(1)
  expect(await isFree(port, '127.0.0.1')).toBe(true)
  await listen(port)
  expect(await isFree(port, '127.0.0.1')).toBe(false)
  expect(await isFree(port, '0.0.0.0')).toBe(false)
  expect(portHolder(port)).toMatch(new RegExp(`^process ${process.pid} \\(.*node`))
})

it('freePortFrom returns the next free port when the preferred one is in use or already taken', async () => {
  const [port = 0] = await freePorts(1)
  await listen(port)
  const next = await freePortFrom(port)
  expect(next).toBeGreaterThan(port)
  expect(await freePortFrom(port, '127.0.0.1', new Set([next]))).toBeGreaterThan(next)
})

it('listeningInodes returns only sockets that listen on exactly that port', () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:115B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1
   1: 0100007F:115B 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 222 1
   2: 0100007F:0FA0 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1`
  expect(listeningInodes(4443, [table])).toEqual(new Set(['111']))
  expect(listeningInodes(4000, [table, ''])).toEqual(new Set(['333']))
  expect(listeningInodes(80, [table])).toEqual(new Set())
})

it('portHolder names no process for a port without a listener', async () => {
  const [port = 0] = await freePorts(1)
  expect(portHolder(port)).toBe('another process')
})

it.each([
  ['', 10_000, 32_000],
  ['junk', 10_000, 32_000],
  ['1/2', 10_000, 21_000],
  ['2/2', 21_000, 32_000],
])('lane %s of tests takes ports from %d to before %d', (lane, first, end) => {
  expect(portRange(lane)).toEqual({ first, end })
})
