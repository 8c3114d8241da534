import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts, until } from '@session-service/testing'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { canConnect } from './camera-connection.js'
import { CameraReader } from './camera-reader.js'

let server: Server
let folder: string

beforeEach(async () => {
  server = createServer((socket) => socket.destroy())
  folder = await mkdtemp(join(tmpdir(), 'camera-'))
})
afterEach(async () => {
  server.close()
  await rm(folder, { recursive: true, force: true })
})

async function listen(port = 0): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

it('a camera can be connected to at one of its addresses, and not at a closed port', async () => {
  const port = await listen()
  const [closed = 0] = await freePorts(1)
  const timeoutMs = 5_000
  const hosts = ['::1', '127.0.0.1']
  expect(await canConnect({ uri: `rtsp://camera.example:${port}/1`, hosts, timeoutMs })).toBe(true)
  expect(await canConnect({ uri: `http://127.0.0.1:${port}/1`, hosts: ['127.0.0.1'], timeoutMs })).toBe(true)
  expect(await canConnect({ uri: `rtsp://camera.example:${closed}/1`, hosts, timeoutMs })).toBe(false)
  expect(await canConnect({ uri: 'file:///camera.mp4', hosts: [], timeoutMs })).toBe(true)
})

it('a camera that cannot be reached is tried without the program, until it takes a connection', async () => {
  const [port = 0] = await freePorts(1)
  const [program, starts] = [join(folder, 'program'), join(folder, 'starts')]
  const answer = '{"event":"error","cause":"unreachable","message":"refused"}'
  await writeFile(program, `#!/bin/sh\necho start >> ${starts}\necho '${answer}'\n`)
  await chmod(program, 0o755)
  const onFailure = jest.fn()
  const ignore = (): void => undefined
  const reader = new CameraReader({
    program,
    address: () =>
      Promise.resolve({
        ...{ uri: `rtsp://127.0.0.1:${port}/1`, hosts: ['127.0.0.1'], user: '', password: '', allow: [] },
        ...{ transport: 'tcp', timeoutMs: 5_000, cacheMs: 0 },
      }),
    ...{ onTracks: ignore, onMedia: ignore, onSent: ignore, onBurst: ignore, onFailure },
  })
  const started = async (): Promise<number> => (await readFile(starts, 'utf8')).split('\n').length - 1
  reader.start()
  await until('it has failed three times', () => onFailure.mock.calls.length >= 3)
  expect(await started()).toBe(1)
  expect(new Set(onFailure.mock.calls.flat().map((failure) => JSON.stringify(failure))).size).toBe(1)
  await listen(port)
  await until('the program runs again', async () => (await started()) > 1)
  await reader.stop()
})
