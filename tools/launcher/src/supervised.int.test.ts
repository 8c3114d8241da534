import { mkdtempSync, rmSync, writeFileSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { ManagedProcess, until } from '@session-service/local-stack'
import { Supervised } from './supervised.js'

const folder = mkdtempSync(join(tmpdir(), 'supervised-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A supervised shell that is ready immediately. */
function supervise(script: string) {
  const started: ManagedProcess[] = []
  const warnings: string[] = []
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
    warn: (text) => warnings.push(text),
    backoff: { firstMs: 20, longestMs: 60, healthyMs: 60_000 },
  })
  return { supervised, started, warnings }
}

it('restarts a process that exits, with one warning each time, until it is stopped', async () => {
  const { supervised, started, warnings } = supervise('exec sleep 60')
  await supervised.start()
  started[0]?.kill('SIGKILL')
  await until('the second one', () => started[1])
  await until('it is running', () => started[1]?.running)
  started[1]?.kill('SIGKILL')
  await until('the third one', () => started[2])
  expect(warnings).toEqual([
    'exited (killed by a signal), restarting in 0.02 s',
    'exited (killed by a signal), restarting in 0.04 s',
  ])
  await supervised.stop()
  expect(started.map(({ running }) => running)).toEqual([false, false, false])
  expect(warnings).toHaveLength(2)
})

it('retries a failed restart and reports the reason', async () => {
  const { supervised, started, warnings } = supervise('exec sleep 60')
  await supervised.start()
  writeFileSync(join(folder, 'broken'), '')
  started[0]?.kill('SIGKILL')
  await until('two attempts failed', () => warnings.length >= 3)
  rmSync(join(folder, 'broken'))
  const last = await until('one that runs', () => started.slice(1).find((child) => child.running))
  expect(warnings[1]).toBe('did not start (port taken), restarting in 0.04 s')
  await supervised.stop()
  expect(last.running).toBe(false)
})

it('rejects when the first start fails', async () => {
  writeFileSync(join(folder, 'broken'), '')
  const { supervised, warnings } = supervise('exec sleep 60')
  await expect(supervised.start()).rejects.toThrow('port taken')
  rmSync(join(folder, 'broken'))
  expect(warnings).toEqual([])
  await supervised.stop()
})

it('does not restart after a stop during the back-off', async () => {
  const { supervised, started, warnings } = supervise('exit 3')
  await supervised.start()
  await until('it died', () => warnings.length > 0)
  await supervised.stop()
  const count = started.length
  expect(warnings[0]).toBe('exited (exit code 3), restarting in 0.02 s')
  expect(started).toHaveLength(count)
  expect(started.every(({ running }) => !running)).toBe(true)
})
