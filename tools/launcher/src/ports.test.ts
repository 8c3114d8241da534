import { createServer, type Server } from 'node:net'
import { afterEach, expect, it } from '@jest/globals'
import { freePorts } from '@session-service/local-stack'
import { OptionError } from './options.js'
import { choosePorts } from './ports.js'

const servers: Server[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done)))))

const hold = (port: number): Promise<void> =>
  new Promise((resolve) => servers.push(createServer().listen(port, '127.0.0.1', resolve)))
const choose = (wanted: Partial<Parameters<typeof choosePorts>[0]>, said: string[] = []) =>
  choosePorts({ env: {}, port: undefined, nodes: 1, playground: true, ...wanted }, (text) => said.push(text))

it('all ports differ, and configured ports are used', async () => {
  const [service = 0, page = 0, ops = 0] = await freePorts(3)
  const env = { SERVICE_PORT: String(service), PLAYGROUND_PORT: String(page), SERVICE_OPS_PORT: String(ops) }
  const ports = await choose({ env, nodes: 3 })
  expect(ports).toMatchObject({ service, playground: page, masterOps: ops })
  const all = [ports.service, ports.playground, ports.masterOps, ...ports.nodeOps, ports.postgres, ports.nats]
  expect(new Set(all).size).toBe(8)
})

it('the option overrides the property, and without the playground it has no port', async () => {
  const [service = 0, other = 0] = await freePorts(2)
  const ports = await choose({ env: { SERVICE_PORT: String(other) }, port: service, playground: false })
  expect(ports).toMatchObject({ service, playground: undefined })
})

it('a configured port in use is rejected with the process that uses it', async () => {
  const [service = 0, page = 0] = await freePorts(2)
  await hold(service)
  const refusal = choose({ port: service })
  await expect(refusal).rejects.toThrow(OptionError)
  await expect(refusal).rejects.toThrow(
    new RegExp(`^port ${service} is in use by process ${process.pid} \\(.*\\): stop it, or choose`),
  )
  await hold(page)
  const [free = 0] = await freePorts(1)
  await expect(choose({ port: free, env: { PLAYGROUND_PORT: String(page) } })).rejects.toThrow(
    'choose another one with PLAYGROUND_PORT',
  )
  await expect(choose({ port: free, env: { PLAYGROUND_PORT: String(free) } })).rejects.toThrow(
    `port ${free} is configured twice`,
  )
})

it('an internal port in use is replaced by the next free one', async () => {
  const [service = 0, ops = 0] = await freePorts(2)
  await hold(ops)
  const ports = await choose({ port: service, env: { SERVICE_OPS_PORT: String(ops) } })
  expect(ports.masterOps).toBeGreaterThan(ops)
})

it('an invalid port is rejected with its property', async () => {
  await expect(choose({ env: { SERVICE_PORT: 'http' } })).rejects.toThrow(
    'SERVICE_PORT must be a port from 1 to 65535, not "http"',
  )
})
