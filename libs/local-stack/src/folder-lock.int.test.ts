import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { FolderInUseError, lockFolder } from './folder-lock.js'
import { until } from './time/until.js'

const folder = mkdtempSync(join(tmpdir(), 'lock-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('lockFolder rejects a locked folder with the process id of the holder', async () => {
  const unlock = await lockFolder(folder)
  await expect(lockFolder(`${folder}/.`)).rejects.toThrow(new FolderInUseError(`${folder}/.`, process.pid))
  unlock()
  const again = await until('the lock is free', () => lockFolder(folder))
  again()
})

it('one of two concurrent callers gets the lock', async () => {
  const outcomes = await Promise.allSettled([lockFolder(folder), lockFolder(folder), lockFolder(folder)])
  const held = outcomes.filter((outcome) => outcome.status === 'fulfilled')
  expect(held).toHaveLength(1)
  for (const { value: unlock } of held) unlock()
})
