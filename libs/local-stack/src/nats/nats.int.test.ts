import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { startNats } from './nats.js'
import { newClusterUsers } from './nats-users.js'

const folder = mkdtempSync(join(tmpdir(), 'nats-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('writes bcrypt hashes of the passwords to a file of mode 0600, also over a world-readable file', async () => {
  const configFile = join(folder, 'nats.conf')
  writeFileSync(configFile, 'old', { mode: 0o644 })
  const users = newClusterUsers('north')
  const lines: string[] = []
  const server = await startNats({ configFile, users: [users], onLine: (line) => lines.push(line) })
  try {
    expect(statSync(configFile).mode & 0o777).toBe(0o600)
    const config = readFileSync(configFile, 'utf8')
    const commandLine = readFileSync(`/proc/${server.pid}/cmdline`, 'utf8')
    for (const { password } of [users.master, users.node])
      expect([config.includes(password), commandLine.includes(password)]).toEqual([false, false])
    expect(config.match(/password: "\$2b\$04\$/g)).toHaveLength(2)
    expect(lines.filter((line) => line.includes('Plaintext'))).toEqual([])
  } finally {
    await server.stop()
  }
})

it('removes the temporary configuration file', async () => {
  const server = await startNats({ users: [newClusterUsers('north')] })
  const file = /--config\0([^\0]+)/.exec(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8'))?.[1] ?? ''
  expect(statSync(file).mode & 0o777).toBe(0o600)
  await server.stop()
  expect(() => statSync(file)).toThrow('ENOENT')
})
