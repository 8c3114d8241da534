import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStack, type Stack, until } from '@session-service/testing'
import { afterEach, expect, it } from '@jest/globals'

let stack: Stack | undefined
let folder: string | undefined
afterEach(async () => {
  await stack?.stop()
  if (folder !== undefined) await rm(folder, { recursive: true })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it('a master listens while ffmpeg -version still runs', async () => {
  folder = await mkdtemp(join(tmpdir(), 'tools-'))
  const pidFile = join(folder, 'pid')
  const tool = join(folder, 'ffmpeg')
  await writeFile(tool, `#!/bin/sh\necho $$ > ${pidFile}.draft\nmv ${pidFile}.draft ${pidFile}\nexec sleep 600\n`)
  await chmod(tool, 0o755)
  stack = await startStack({
    nodes: 0,
    masterEnv: { SERVICE_RECORDING: 'true', PATH: `${folder}:${process.env.PATH ?? ''}` },
  })
  const pid = Number(await until('ffmpeg was started', () => readFile(pidFile, 'utf8').catch(() => undefined)))
  expect((await stack.rest('GET', '/sessions')).status).toBe(200)
  expect(isAlive(pid)).toBe(true)
  await stack.stop()
  stack = undefined
  await until('ffmpeg has ended with the master', () => !isAlive(pid))
}, 60_000)
