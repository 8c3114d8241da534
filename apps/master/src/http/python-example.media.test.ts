import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const SCRIPT = fileURLToPath(new URL('../../../../docs/examples/session.py', import.meta.url))

let stack: Stack

beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack.stop())

/** What it prints, line by line. */
async function run(...args: string[]): Promise<string[]> {
  const env = { ...process.env, SERVICE_URL: stack.masterUrl, SERVICE_SECRET: stack.secret }
  try {
    const { stdout } = await promisify(execFile)('python3', [SCRIPT, ...args], { env })
    return stdout.trim().split('\n')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new Error('python3 is not installed: the example cannot be tried', { cause: error })
    throw error
  }
}

describe('the example in Python, with nothing but its standard library', () => {
  it('creates, lists, signals into an empty room, closes', async () => {
    expect(await run()).toEqual(['create 200', 'connection 200 token', 'list 200 True', 'signal 406', 'close 204'])
  })

  it('reaches who is in a session that existed before', async () => {
    const { id } = await stack.api.createSession({ customSessionId: 'met-before' })
    const participant = await stack.join(id)
    expect(await run(id)).toEqual(['create 409', 'connection 200 token', 'list 200 True', 'signal 200', 'close 204'])
    await participant.close()
  })
})
