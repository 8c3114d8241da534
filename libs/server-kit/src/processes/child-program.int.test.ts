import { describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { until } from '@session-service/local-stack'
import { ChildProgram, redactOutput, type ChildOptions } from './child-program.js'

const node = (script: string, more: Partial<ChildOptions> = {}): ChildProgram =>
  new ChildProgram({ command: process.execPath, args: ['-e', script], ...more })

/** Prints a line once it listens. */
const WAITS = 'setInterval(() => {}, 1000); console.log("up")'

/** The state letter of /proc/<pid>/stat; undefined when there is no such process. */
function processState(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2, text.lastIndexOf(')') + 3)
  } catch {
    return undefined
  }
}
/** A zombie has ended; its parent has not read its exit status yet. */
const isRunning = (pid: number): boolean => !['Z', 'X', undefined].includes(processState(pid))

describe('ChildProgram', () => {
  it('writes lines to the program, reads its lines, and reports no failure after a stop', async () => {
    const lines: string[] = []
    const program = node('process.stdin.on("data", (data) => console.log("got " + data)); console.log("up")', {
      onLine: (line) => lines.push(line),
    })
    program.write('a word')
    await until('it answers', () => lines.includes('got a word'))
    expect(await program.stop()).toEqual({ code: null, signal: 'SIGINT' })
    expect(program.running).toBe(false)
    program.write('ignored')
  })

  it.each([
    ['process.exit(0)', 'ended with code 0'],
    ['console.error("no rtsp://u:geheim@host here"); process.exit(3)', 'ended with code 3: no rtsp://…@host here'],
    ['process.kill(process.pid, "SIGKILL")', 'was ended by SIGKILL'],
  ])('reports an exit that was not requested as a failure: %s', async (script, outcome) => {
    const { failure } = await node(script).exited
    expect(failure).toBe(`${process.execPath} ${outcome}`)
  })

  it('reports a program that does not exist as a failure', async () => {
    const { failure } = await new ChildProgram({ command: '/nowhere/program', args: [] }).exited
    expect(failure).toMatch(/\/nowhere\/program/)
  })

  it('sends the next signal to a program that ignores the first one', async () => {
    const lines: string[] = []
    const deaf = node(`process.on("SIGINT", () => console.log("deaf")); ${WAITS}`, {
      onLine: (line) => lines.push(line),
    })
    await until('it is up', () => lines.includes('up'))
    const steps = [
      { afterMs: 0, signal: 'SIGINT' },
      { afterMs: 3_000, signal: 'SIGKILL' },
    ] as const
    expect(await deaf.stop(steps)).toEqual({ code: null, signal: 'SIGKILL' })
    expect(lines).toContain('deaf')
  })

  it.each([
    [false, { failure: 'sleep wrote nothing for 5 s' }],
    [true, {}],
  ])('kills a program that hangs; stop was called before: %s', async (isStopped, failure) => {
    const hung = new ChildProgram({ command: 'sleep', args: ['60'] })
    process.kill(hung.pid!, 'SIGSTOP')
    // Of two pending signals the kernel delivers SIGINT before SIGSTOP.
    await until('it is suspended', () => processState(hung.pid!) === 'T')
    if (isStopped) void hung.stop()
    hung.kill('wrote nothing for 5 s')
    expect(await hung.exited).toEqual({ code: null, signal: 'SIGKILL', ...failure })
    expect(isRunning(hung.pid!)).toBe(false)
  })

  it('passes on only the variables of the system and those that the caller adds', async () => {
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

  it('lowers the priority of the program', async () => {
    const program = new ChildProgram({ command: 'sleep', args: ['60'], niceness: 10 })
    expect(getPriority(program.pid)).toBe(10)
    await program.stop()
  })

  it('kills the descendants that a program left behind', async () => {
    const lines: string[] = []
    const script = 'sleep 1000 & echo $!; exit 3'
    const program = new ChildProgram({ command: 'sh', args: ['-c', script], onLine: (line) => lines.push(line) })
    expect(await program.exited).toMatchObject({ code: 3 })
    await until('the descendant has ended', () => !isRunning(Number(lines[0])))
  })

  it.each([
    ['while the program runs', ''],
    ['directly after it started the program', 'process.kill(process.pid, "SIGKILL")'],
  ])('ends with this process when that dies %s', async (_when, end) => {
    const module = new URL('child-program.js', import.meta.url).href
    const script = `import { writeSync } from 'node:fs'
      const { ChildProgram } = await import(${JSON.stringify(module)})
      const child = new ChildProgram({ command: process.execPath, args: ['-e', 'process.on("SIGINT", () => {}); setInterval(() => {}, 1000)'] })
      writeSync(1, String(child.pid))
      ${end}`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(output.toString())
    if (end === '') await until('the program runs', () => isRunning(pid))
    parent.kill('SIGKILL')
    await until('the program has ended', () => !isRunning(pid))
  })
})

describe('redactOutput', () => {
  it.each([
    ['rtsp://user:p%40ss@host/path', 'rtsp://…@host/path'],
    ['GET /x?token=abc&y=1', 'GET /x?token=…&y=1'],
    ['Authorization: Bearer abc.def', 'Authorization: …'],
    ['frame=  12 fps=25', 'frame=  12 fps=25'],
  ])('writes %s as %s', (line, redacted) => {
    expect(redactOutput(line)).toBe(redacted)
  })

  it('does not search a long word again from each of its letters, which takes minutes', async () => {
    const word = 'a'.repeat(1_000_000)
    expect(redactOutput(word)).toBe(word)
    // Before the test is over, so that its time limit applies.
    await new Promise(setImmediate)
  })
})
