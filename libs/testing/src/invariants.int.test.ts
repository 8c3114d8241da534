import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { descendantsOf, holdingsOf, isAlive, memoryOf, processesNamed } from './invariants.js'

const HOLDER = `
  const { createSocket } = require('node:dgram')
  const { spawn } = require('node:child_process')
  const socket = createSocket('udp4').bind(0, '127.0.0.1', () => {
    const child = spawn('sleep', ['61'])
    console.log(JSON.stringify({ port: socket.address().port, child: child.pid }))
  })`

it('lists the resources of a process and its children, and detects their exit', async () => {
  const holder = spawn(process.execPath, ['-e', HOLDER], { stdio: ['ignore', 'pipe', 'inherit'] })
  const pid = holder.pid ?? 0
  const line = await new Promise<string>((resolve) => createInterface({ input: holder.stdout }).once('line', resolve))
  const { port, child } = JSON.parse(line) as { port: number; child: number }
  await until('the child has executed its program', () => descendantsOf(pid)[0]?.command === 'sleep 61')
  const holdings = holdingsOf(pid)
  expect(holdings.descendants).toEqual([{ pid: child, parent: pid, command: 'sleep 61' }])
  expect(holdings.udpPorts).toEqual([port])
  expect(holdings.openFiles).toBeGreaterThan(3)
  expect(holdings.memory).toBeGreaterThan(memoryOf(child))
  expect(descendantsOf(process.pid).map((each) => each.pid)).toEqual(expect.arrayContaining([pid, child]))
  expect(processesNamed('sleep 61').map((each) => each.pid)).toContain(child)

  process.kill(child, 'SIGKILL')
  await until('the child has exited', () => !isAlive(child))
  expect(holdingsOf(pid).descendants).toEqual([])
  holder.kill('SIGKILL')
  await until('the process has exited', () => !isAlive(pid))
  expect(() => memoryOf(pid)).toThrow(`process ${pid} does not exist`)
})

it('a descendant that ends while the holdings are read counts nothing', async () => {
  const forker = spawn('sh', ['-c', 'while :; do /bin/true; done'], { stdio: 'ignore' })
  const pid = forker.pid ?? 0
  try {
    await until('it has children', () => descendantsOf(pid).length > 0)
    for (let reading = 0; reading < 200; reading++) expect(holdingsOf(pid).memory).toBeGreaterThan(0)
  } finally {
    forker.kill('SIGKILL')
  }
  await until('the forker is gone', () => !isAlive(pid))
})
