import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { flush, isErrno, makeFolder, moveDurably } from './files.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'files-'))
})
afterAll(() => rm(folder, { recursive: true }))

it('moveDurably moves a file with its content, and flush accepts a folder', async () => {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')]
  await writeFile(from, 'all of it')
  await moveDurably(from, to)
  await flush(folder)
  expect(await readFile(to, 'utf8')).toBe('all of it')
  const failure = await moveDurably(from, to).catch((error: unknown) => error)
  expect([isErrno(failure, 'ENOSPC'), isErrno(failure, 'ENOSPC', 'ENOENT')]).toEqual([false, true])
})

it('makeFolder creates missing parents, accepts an existing folder and rejects a file in its place', async () => {
  const path = join(folder, 'a/b/c')
  await makeFolder(path)
  await makeFolder(path)
  await writeFile(join(path, 'file'), '')
  for (const inTheWay of ['file', 'file/d'])
    expect(isErrno(await makeFolder(join(path, inTheWay)).catch((error: unknown) => error), 'EEXIST', 'ENOTDIR')).toBe(
      true,
    )
})

it('makeFolder rejects below /proc, where a recursive mkdir never returns', async () => {
  for (const path of ['/proc/x', '/proc/x/y/z'])
    expect(isErrno(await makeFolder(path).catch((error: unknown) => error), 'ENOENT', 'EPERM', 'EACCES')).toBe(true)
})

it.each([[undefined], ['ENOENT'], [new Error('ENOENT')], [{ code: 7 }]])('isErrno finds no code in %p', (error) => {
  expect(isErrno(error, 'ENOENT')).toBe(false)
})
