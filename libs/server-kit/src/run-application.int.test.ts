import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'

const FIXTURE = fileURLToPath(new URL('./fixtures/application.js', import.meta.url))

class Run {
  out = ''
  err = ''
  readonly exited: Promise<[code: number | null, signal: NodeJS.Signals | null]>
  readonly #child: ChildProcess

  constructor(behaviour: string) {
    this.#child = spawn(process.execPath, [FIXTURE, behaviour], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child.stdout?.on('data', (chunk: Buffer) => (this.out += chunk.toString()))
    this.#child.stderr?.on('data', (chunk: Buffer) => (this.err += chunk.toString()))
    this.exited = once(this.#child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async prints(word: string): Promise<void> {
    const deadline = Date.now() + 20_000
    while (!this.out.includes(word)) {
      if (Date.now() > deadline) throw new Error(`did not print "${word}" within 20 s: ${this.out}${this.err}`)
      await pause(10)
    }
  }
}

const runs: Run[] = []
const run = (behaviour: string): Run => {
  const made = new Run(behaviour)
  runs.push(made)
  return made
}
afterEach(() => {
  for (const one of runs.splice(0)) one.signal('SIGKILL')
})

describe('runApplication', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('closes gracefully at %s and exits 0', async (signal) => {
    const process = run('orderly')
    await process.prints('started')
    process.signal(signal)
    expect(await process.exited).toEqual([0, null])
    expect(process.out).toBe('started\nclosing\nclosed\n')
    expect(process.err).toBe('')
  })

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('exits immediately at a second signal: %s exits with %i', async (signal, code) => {
    const process = run('stuck')
    await process.prints('started')
    process.signal('SIGTERM')
    await process.prints('closing')
    process.signal(signal)
    expect(await process.exited).toEqual([code, null])
  })

  it('passes two signals to an application with a long shutdown, which decides when to close', async () => {
    const process = run('patient')
    await process.prints('started')
    process.signal('SIGTERM')
    await process.prints('signal 1')
    process.signal('SIGINT')
    expect(await process.exited).toEqual([0, null])
    expect(process.out).toBe('started\nsignal 1\nsignal 2\nclosing\nclosed\n')
  })

  it('closes an application that requests its shutdown', async () => {
    const process = run('leaving')
    expect(await process.exited).toEqual([0, null])
    expect(process.out).toBe('started\nclosing\nclosed\n')
  })

  it('closes an application after a fatal error, logs it and exits 1', async () => {
    const process = run('giving up')
    expect(await process.exited).toEqual([1, null])
    expect(process.out).toMatch(/^started\n\{.*"level":"fatal".*another one holds the id.*\nclosing\nclosed\n$/)
  })

  it('exits 1 when the shutdown times out', async () => {
    const process = run('late')
    await process.prints('started')
    process.signal('SIGTERM')
    expect(await process.exited).toEqual([1, null])
    expect(process.out).toContain('shutdown timed out after 50 ms')
  })

  it('exits 1 when the shutdown fails', async () => {
    const process = run('unclosable')
    await process.prints('started')
    process.signal('SIGTERM')
    expect(await process.exited).toEqual([1, null])
    expect(process.out).toContain('cannot close')
  })

  it('aborts the start at a signal and exits 0', async () => {
    const process = run('waiting')
    await process.prints('started')
    process.signal('SIGTERM')
    expect(await process.exited).toEqual([0, null])
  })

  it('prints problems of the configuration as plain lines and exits 78', async () => {
    const process = run('config')
    expect(await process.exited).toEqual([78, null])
    expect(process.err).toBe('SERVICE_PORT: must be an integer\nDATABASE_URL: is mandatory\n')
    expect(process.out).toBe('')
  })

  it('logs why the start failed, without secrets, and exits 1', async () => {
    const process = run('failing')
    expect(await process.exited).toEqual([1, null])
    expect(JSON.parse(process.out)).toMatchObject({
      level: 'fatal',
      name: 'fixture',
      msg: 'start failed',
      err: { message: 'no database at postgres://a:***@b' },
    })
  })

  it('logs an uncaught error and exits 1', async () => {
    const process = run('crashing')
    expect(await process.exited).toEqual([1, null])
    expect(process.out).toContain('unforeseen')
  })
})
