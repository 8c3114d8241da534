import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { expect, it } from '@jest/globals'
import { freePorts } from '../ports.js'
import { until } from '../time/until.js'
import { ManagedProcess, type ProcessOptions } from './managed-process.js'
import { answersOk, printsLine } from './readiness.js'

const shell = (script: string, options: Partial<ProcessOptions> = {}): Promise<ManagedProcess> =>
  ManagedProcess.start({
    name: 'tester',
    command: '/bin/sh',
    args: ['-c', script],
    env: { PATH: process.env.PATH ?? '', WORD: 'hello' },
    whenReady: printsLine(/^ready/),
    ...options,
  })

const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

it('a process is ready after its ready line, has only the given environment, and its lines are reported', async () => {
  const lines: string[] = []
  const child = await shell('echo "$WORD"; echo oops >&2; echo ready; exec sleep 60', {
    onLine: (line, stream) => lines.push(`${stream} ${line}`),
  })
  await child.ready
  await until('all lines', () => lines.length === 3)
  expect(lines.toSorted()).toEqual(['stderr oops', 'stdout hello', 'stdout ready'])
  expect(child.running).toBe(true)
  await child.stop()
  expect(child.running).toBe(false)
  expect(await child.exited).toBeNull()
})

it('exited resolves with the exit code of a graceful shutdown', async () => {
  const child = await shell('trap "exit 7" TERM; echo ready; while :; do sleep 0.05; done')
  await child.ready
  await child.stop()
  expect(await child.exited).toBe(7)
  expect(child.kill()).toBe(false)
})

it('ready rejects with the last lines of a process that exits before', async () => {
  const child = await shell('echo "port is taken" >&2; exit 3')
  await expect(child.ready).rejects.toThrow('tester exited before it was ready (exit code 3):\nport is taken')
})

it('ready rejects after its time limit', async () => {
  const child = await shell('echo waiting; exec sleep 60', { readyTimeoutMs: 2_000 })
  await expect(child.ready).rejects.toThrow('tester was not ready after 2 s:\nwaiting')
  await child.stop()
})

it('start names a program that does not exist', async () => {
  await expect(shell('', { command: '/nowhere/server' })).rejects.toThrow(
    /^tester cannot be started: .*\/nowhere\/server ENOENT/,
  )
})

it('stop kills a process that ignores the signal, with its descendants', async () => {
  const child = await shell(`trap '' TERM; sleep 60 & echo "ready $!"; wait; wait`, { stopTimeoutMs: 200 })
  await child.ready
  const grandchild = Number(child.lastLines[0]?.split(' ')[1])
  expect(isAlive(grandchild)).toBe(true)
  await child.stop()
  await until('the grandchild has ended', () => !isAlive(grandchild))
})

it('stop ends a suspended process', async () => {
  const child = await shell('echo ready; exec sleep 60')
  await child.ready
  child.kill('SIGSTOP')
  await until('the process is suspended', () => readFileSync(`/proc/${child.pid}/stat`, 'utf8').includes(') T '))
  await child.stop()
  expect(isAlive(child.pid)).toBe(false)
})

it('answersOk waits for an answer of 200', async () => {
  const [port = 0] = await freePorts(1)
  let answers = 0
  const server = createServer((_request, response) => {
    response.statusCode = ++answers < 3 ? 503 : 200
    response.end()
  })
  const child = await shell('exec sleep 60', { whenReady: answersOk(`http://127.0.0.1:${port}/`) })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await child.ready
  expect(answers).toBe(3)
  await child.stop()
  await new Promise((resolve) => server.close(resolve))
})

it('two children and the reaper leave no process', async () => {
  // The reaper of an earlier test may still be ending.
  const before = new Set(childrenOf(process.pid))
  const ours = (): number[] => childrenOf(process.pid).filter((pid) => !before.has(pid))
  const children = await Promise.all([shell('echo ready; exec sleep 60'), shell('echo ready; exec sleep 60')])
  await Promise.all(children.map((child) => child.ready))
  expect(ours()).toHaveLength(3)
  await Promise.all(children.map((child) => child.stop()))
  await until('no child is left', () => ours().length === 0)
})

it('the reaper is replaced when it dies', async () => {
  const before = new Set(childrenOf(process.pid))
  const child = await shell('echo ready; exec sleep 60')
  await child.ready
  const [reaper = 0] = childrenOf(process.pid).filter((pid) => !before.has(pid) && pid !== child.pid)
  process.kill(reaper, 'SIGKILL')
  await until('another reaper', () =>
    childrenOf(process.pid).some((pid) => !before.has(pid) && pid !== child.pid && pid !== reaper),
  )
  await child.stop()
})

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
