import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { childrenOf } from '../../fixtures/processes.js'
import { PageBrowser, type BrowserOptions } from './page-browser.js'

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'browser-'))))
afterEach(() => rm(folder, { recursive: true, force: true }))

async function browser(script: string, more: Partial<BrowserOptions> = {}): Promise<PageBrowser> {
  const program = join(folder, 'program')
  await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o700 })
  const page = { url: 'http://127.0.0.1:1/page', token: 'token', shmSize: 1 }
  const { signal } = new AbortController()
  return PageBrowser.open({ program, folder, env: {}, hasAudio: true, width: 320, height: 180, page, signal, ...more })
}

it('a browser that never answers is stopped', async () => {
  const before = childrenOf(process.pid)
  await expect(browser('read line', { startMs: 50 })).rejects.toMatchObject({
    code: 'LAUNCH_FAILED',
    message: expect.stringContaining('it did not answer within 50 ms'),
  })
  expect(childrenOf(process.pid).filter((pid) => !before.includes(pid))).toEqual([])
})
