import { mkdtempSync, rmSync, writeFileSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { ManagedProcess, until } from '@session-service/local-stack'
import { pauseAfter, Supervised } from './supervised.js'

const folder = mkdtempSync(join(tmpdir(), 'supervised-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A shell that is ready at once, looked after. */
function watch(script: string) {
  const started: ManagedProcess[] = []
  const said: string[] = []
  const supervised = new Supervised({
    name: 'child',
    start: async () => {
      const child = await ManagedProcess.start({
        name: 'child',
        command: '/bin/sh',
        args: ['-c', script],
        env: { PATH: process.env.PATH ?? '' },
        whenReady: () =>
          existsSync(join(folder, 'broken')) ? Promise.reject(new Error('port taken\nmore')) : Promise.resolve(),
      })
      started.push(child)
      try {
        await child.ready
      } catch (error) {
        await child.stop()
        throw error
      }
      return child
    },
    warn: (text) => said.push(text),
    pauses: { first: 20, longest: 60, healthyMs: 60_000 },
  })
  return { supervised, started, said }
}

test('pauses double up to the longest', () => {
  expect([1, 2, 3, 4, 100].map((deaths) => pauseAfter(deaths, 500, 3_000))).toEqual([500, 1_000, 2_000, 3_000, 3_000])
})

test('who dies is started again, told by one line each time, and ended when asked', async () => {
  const { supervised, started, said } = watch('exec sleep 60')
  await supervised.start()
  started[0]?.kill('SIGKILL')
  await until('the second one', () => started[1])
  await until('it is seen running', () => started[1]?.running)
  started[1]?.kill('SIGKILL')
  await until('the third one', () => started[2])
  expect(said).toEqual([
    'ended (killed by a signal), starting it again in 0.02 s',
    'ended (killed by a signal), starting it again in 0.04 s',
  ])
  await supervised.stop()
  expect(started.map(({ running }) => running)).toEqual([false, false, false])
  expect(said).toHaveLength(2)
})

test('who does not come up is tried again and again, with the reason', async () => {
  const { supervised, started, said } = watch('exec sleep 60')
  await supervised.start()
  writeFileSync(join(folder, 'broken'), '')
  started[0]?.kill('SIGKILL')
  await until('two attempts failed', () => said.length >= 3)
  rmSync(join(folder, 'broken'))
  const last = await until('one that runs', () => started.slice(1).find((child) => child.running))
  expect(said[1]).toBe('did not start (port taken), starting it again in 0.04 s')
  await supervised.stop()
  expect(last.running).toBe(false)
})

test('the first start that fails is told to whoever asked', async () => {
  writeFileSync(join(folder, 'broken'), '')
  const { supervised, said } = watch('exec sleep 60')
  await expect(supervised.start()).rejects.toThrow('port taken')
  rmSync(join(folder, 'broken'))
  expect(said).toEqual([])
  await supervised.stop()
})

test('told to stop during a pause it starts nothing more', async () => {
  const { supervised, started, said } = watch('exit 3')
  await supervised.start()
  await until('it died', () => said.length > 0)
  await supervised.stop()
  const count = started.length
  expect(said[0]).toBe('ended (exit code 3), starting it again in 0.02 s')
  expect(started).toHaveLength(count)
  expect(started.every(({ running }) => !running)).toBe(true)
})
