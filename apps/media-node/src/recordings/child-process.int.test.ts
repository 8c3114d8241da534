import { describe, expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { until } from '@session-service/local-stack'
import { isRunning, isSuspended } from '../fixtures/processes.js'
import { ChildProgram, redact } from './child-process.js'

const node = (script: string, more: Partial<ConstructorParameters<typeof ChildProgram>[0]> = {}): ChildProgram =>
  new ChildProgram({ command: process.execPath, args: ['-e', script], ...more })

/** Says so once it listens. */
const WAITS = 'setInterval(() => {}, 1000); console.log("up")'

describe('a program', () => {
  test('gets lines, gives lines, and ends without failure when asked', async () => {
    const lines: string[] = []
    const program = node('process.stdin.on("data", (data) => console.log("got " + data)); console.log("up")', {
      onLine: (line) => lines.push(line),
    })
    program.write('a word')
    await until('it answers', () => lines.includes('got a word'))
    expect(await program.stop()).toEqual({ code: null, signal: 'SIGINT' })
    expect(program.running).toBe(false)
    program.write('to nobody')
  })

  test.each([
    ['process.exit(0)', 'ended with code 0'],
    ['console.error("no rtsp://u:geheim@host here"); process.exit(3)', 'ended with code 3: no rtsp://…@host here'],
    ['process.kill(process.pid, "SIGKILL")', 'was ended by SIGKILL'],
  ])('that ends unasked has failed: %s', async (script, how) => {
    const { failure } = await node(script).exited
    expect(failure).toBe(`${process.execPath} ${how}`)
  })

  test('that is not there has failed', async () => {
    const { failure } = await new ChildProgram({ command: '/nowhere/program', args: [] }).exited
    expect(failure).toMatch(/\/nowhere\/program/)
  })

  test('that does not listen to the first signal gets the next ones', async () => {
    const lines: string[] = []
    const deaf = node(`process.on("SIGINT", () => console.log("deaf")); ${WAITS}`, {
      onLine: (line) => lines.push(line),
    })
    await until('it is up', () => lines.includes('up'))
    const ladder = [
      { afterMs: 0, signal: 'SIGINT' },
      { afterMs: 3_000, signal: 'SIGKILL' },
    ] as const
    expect(await deaf.stop(ladder)).toEqual({ code: null, signal: 'SIGKILL' })
    expect(lines).toContain('deaf')
  })

  test.each([
    [false, { failure: 'sleep wrote nothing for 5 s' }],
    [true, {}],
  ])('that hangs is killed; asked to end before: %s', async (isAsked, why) => {
    const hung = new ChildProgram({ command: 'sleep', args: ['60'] })
    process.kill(hung.pid!, 'SIGSTOP')
    // Of two pending signals the kernel delivers SIGINT before SIGSTOP.
    await until('it is suspended', () => isSuspended(hung.pid!))
    if (isAsked) void hung.stop()
    hung.kill('wrote nothing for 5 s')
    expect(await hung.exited).toEqual({ code: null, signal: 'SIGKILL', ...why })
    expect(isRunning(hung.pid!)).toBe(false)
  })

  test('knows nothing of our environment but what it needs', async () => {
    process.env.SERVICE_TEST_SECRET = 'geheim'
    const lines: string[] = []
    const program = node('console.log(Object.keys(process.env).join())', {
      env: { ITS_OWN: '1' },
      onLine: (line) => lines.push(line),
    })
    await program.exited
    delete process.env.SERVICE_TEST_SECRET
    expect(lines[0]?.split(',')).toEqual(expect.arrayContaining(['PATH', 'ITS_OWN']))
    expect(lines[0]).not.toContain('SERVICE_TEST_SECRET')
  })

  test('takes with it what it has started and left behind', async () => {
    const lines: string[] = []
    const script = 'sleep 1000 & echo $!; exit 3'
    const program = new ChildProgram({ command: 'sh', args: ['-c', script], onLine: (line) => lines.push(line) })
    expect(await program.exited).toMatchObject({ code: 3 })
    await until('it has gone too', () => !isRunning(Number(lines[0])))
  })

  test('that can not be given descriptors has failed, and harms nobody', async () => {
    const modules = ['child-process.js', 'individual/goodbye.js', 'individual/ports.js']
    const urls = modules.map((module) => JSON.stringify(new URL(module, import.meta.url).href))
    const script = `const { openSync } = await import('node:fs')
      const [{ ChildProgram }, { sendGoodbye }, { hasOpen }] = await Promise.all([${urls.map((url) => `import(${url})`).join()}])
      try { for (;;) openSync('/dev/null') } catch {}
      const program = new ChildProgram({ command: process.execPath, args: [], hasChannel: true })
      program.write('to nobody')
      sendGoodbye(1, 9)
      const isOpen = await hasOpen(process.pid, [9])
      const { failure } = await program.exited
      await program.stop()
      console.log(JSON.stringify({ failure, isOpen }))`
    const limited = ['-c', 'ulimit -n 64 && exec "$0" "$@"', process.execPath, '--input-type=module', '-e', script]
    const lines: string[] = []
    const helper = new ChildProgram({ command: 'sh', args: limited, onLine: (line) => lines.push(line) })
    const { code } = await helper.exited
    expect([code, helper.lastLines]).toEqual([0, []])
    expect(JSON.parse(lines[0] ?? '')).toEqual({ failure: expect.stringContaining('EMFILE'), isOpen: false })
  })

  test.each([
    ['however we die', ''],
    ['however early we die', 'process.kill(process.pid, "SIGKILL")'],
  ])('dies with us, %s', async (_how, end) => {
    const helper = new URL('child-process.js', import.meta.url).href
    const script = `import { writeSync } from 'node:fs'
      const { ChildProgram } = await import(${JSON.stringify(helper)})
      const child = new ChildProgram({ command: process.execPath, args: ['-e', 'process.on("SIGINT", () => {}); setInterval(() => {}, 1000)'] })
      writeSync(1, String(child.pid))
      ${end}`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [said] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(said.toString())
    if (end === '') await until('the program runs', () => isRunning(pid))
    parent.kill('SIGKILL')
    await until('it has gone too', () => !isRunning(pid))
  })
})

test.each([
  ['rtsp://user:p%40ss@host/path', 'rtsp://…@host/path'],
  ['GET /x?token=abc&y=1', 'GET /x?token=…&y=1'],
  ['Authorization: Bearer abc.def', 'Authorization: …'],
  ['frame=  12 fps=25', 'frame=  12 fps=25'],
])('%s is shown as %s', (line, shown) => {
  expect(redact(line)).toBe(shown)
})
