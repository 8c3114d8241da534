import { describe, expect, it } from '@jest/globals'
import { runTool, ToolFailure } from './tool.js'

const never = new AbortController().signal
const failure = (script: string, deadlineMs = 10_000): Promise<unknown> =>
  runTool('sh', ['-c', script], { signal: never, deadlineMs }).then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a program that', () => {
  it('ends well gives what it wrote', async () => {
    expect(await runTool('sh', ['-c', 'echo words'], { signal: never, deadlineMs: 10_000 })).toBe('words\n')
  })

  it('says no is a failure of what it was given', async () => {
    expect(await failure('echo no such stream >&2; exit 1')).toMatchObject({
      name: ToolFailure.name,
      message: 'sh ended with code 1: no such stream',
    })
  })

  it('is not there says nothing of what it was given: it may be there another time', async () => {
    const running = runTool('no-such-program', [], { signal: never, deadlineMs: 10_000 })
    await expect(running).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'no-such-program is not installed' })
  })

  it.each([
    ['is killed', 'kill -9 $$', 10_000, 'sh was ended: '],
    ['is ended by a signal that it heeds', 'exit 255', 10_000, 'sh was ended: '],
    ['takes too long', 'exec sleep 60', 100, 'sh took too long: '],
  ])('%s says nothing of what it was given', async (_, script, deadlineMs, message) => {
    const error = await failure(script, deadlineMs)
    expect(error).toMatchObject({ message })
    expect(error).not.toBeInstanceOf(ToolFailure)
  })

  it('is stopped gives the reason for that', async () => {
    const abort = new AbortController()
    const running = runTool('sleep', ['60'], { signal: abort.signal, deadlineMs: 60_000 })
    abort.abort(new Error('deleted'))
    await expect(running).rejects.toThrow('deleted')
  })

  it('has a group of its own, which Ctrl-C does not reach', async () => {
    const options = { signal: never, deadlineMs: 10_000 }
    const group = await runTool('sh', ['-c', 'ps -o pgid= -p $$'], options)
    const ours = await runTool('ps', ['-o', 'pgid=', '-p', String(process.pid)], options)
    expect(group.trim()).not.toBe(ours.trim())
  })
})
