import { describe, expect, it } from '@jest/globals'
import { runTool, ToolError } from './tool.js'

const never = new AbortController().signal
const failure = (script: string, timeoutMs = 10_000): Promise<unknown> =>
  runTool('sh', ['-c', script], { signal: never, timeoutMs }).then(
    () => undefined,
    (error: unknown) => error,
  )

describe('runTool with a program that', () => {
  it('succeeds gives its output', async () => {
    expect(await runTool('sh', ['-c', 'echo words'], { signal: never, timeoutMs: 10_000 })).toBe('words\n')
  })

  it('exits with an error code throws a ToolError with its last lines', async () => {
    expect(await failure('echo no such stream >&2; exit 1')).toMatchObject({
      name: ToolError.name,
      message: 'sh exited with code 1: no such stream',
    })
  })

  it('is not installed throws UNAVAILABLE', async () => {
    const running = runTool('no-such-program', [], { signal: never, timeoutMs: 10_000 })
    await expect(running).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'no-such-program is not installed' })
  })

  it.each([
    ['is killed', 'kill -9 $$', 10_000, 'sh was killed: '],
    ['exits with 255 after a signal', 'exit 255', 10_000, 'sh was killed: '],
    ['times out', 'exec sleep 60', 100, 'sh timed out: '],
  ])('%s throws an error that is no ToolError', async (_, script, timeoutMs, message) => {
    const error = await failure(script, timeoutMs)
    expect(error).toMatchObject({ message })
    expect(error).not.toBeInstanceOf(ToolError)
  })

  it('is aborted throws the reason of the signal', async () => {
    const abort = new AbortController()
    const running = runTool('sleep', ['60'], { signal: abort.signal, timeoutMs: 60_000 })
    abort.abort(new Error('deleted'))
    await expect(running).rejects.toThrow('deleted')
  })

  it('is running has a process group of its own, which Ctrl-C does not reach', async () => {
    const options = { signal: never, timeoutMs: 10_000 }
    const group = await runTool('sh', ['-c', 'ps -o pgid= -p $$'], options)
    const ours = await runTool('ps', ['-o', 'pgid=', '-p', String(process.pid)], options)
    expect(group.trim()).not.toBe(ours.trim())
  })
})
