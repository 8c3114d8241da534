import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { flush, isErrno, makeFolder, moveDurably } from './files.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'files-'))
})
afterAll(() => rm(folder, { recursive: true }))

test('a file is moved whole, a folder is flushed as well', async () => {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')]
  await writeFile(from, 'all of it')
  await moveDurably(from, to)
  await flush(folder)
  expect(await readFile(to, 'utf8')).toBe('all of it')
  const failure = await moveDurably(from, to).catch((error: unknown) => error)
  expect([isErrno(failure, 'ENOSPC'), isErrno(failure, 'ENOSPC', 'ENOENT')]).toEqual([false, true])
})

test('makeFolder makes the folders above, accepts an existing one and refuses a file in its place', async () => {
  const path = join(folder, 'a/b/c')
  await makeFolder(path)
  await makeFolder(path)
  await writeFile(join(path, 'file'), '')
  for (const inTheWay of ['file', 'file/d'])
    expect(isErrno(await makeFolder(join(path, inTheWay)).catch((error: unknown) => error), 'EEXIST', 'ENOTDIR')).toBe(
      true,
    )
})

test('makeFolder rejects below /proc, where a recursive mkdir never returns', async () => {
  for (const path of ['/proc/x', '/proc/x/y/z'])
    expect(isErrno(await makeFolder(path).catch((error: unknown) => error), 'ENOENT', 'EPERM', 'EACCES')).toBe(true)
})

test.each([[undefined], ['ENOENT'], [new Error('ENOENT')], [{ code: 7 }]])('%p has no code of the system', (error) => {
  expect(isErrno(error, 'ENOENT')).toBe(false)
})
