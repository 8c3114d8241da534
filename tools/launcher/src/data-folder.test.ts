import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import { explainFileError } from './data-folder.js'
import { launch } from './launcher.js'

const folders: string[] = []
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-folder-'))
  folders.push(folder)
})
afterAll(() => {
  for (const each of folders) rmSync(each, { recursive: true, force: true })
})

async function outputOf(data: string, ...args: string[]): Promise<{ code: number; output: string }> {
  let output = ''
  const code = await launch({
    args: ['--data', data, ...args],
    env: {},
    write: (text) => void (output += text),
    colours: false,
    onEnd: () => undefined,
    exit: (status) => {
      throw new Error(`exit ${status}`)
    },
  })
  return { code, output }
}

describe('the launcher', () => {
  it('names a data folder that is a file, and the option for another one', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const { code, output } = await outputOf(file)
    expect([code, output]).toEqual([
      2,
      `EEXIST: file already exists, mkdir '${file}': choose another folder with --data\n`,
    ])
  })

  it('names a stored secret that it cannot read, and does not replace it', async () => {
    const file = join(folder, 'secret')
    // Root, who runs tests, can read a file of any mode, but no link to itself.
    symlinkSync('secret', file)
    const { code, output } = await outputOf(folder)
    expect(code).toBe(2)
    expect(output).toMatch(/^ELOOP: .* open '.*\/secret': choose another folder with --data\n$/)
  })
})

describe('an error of the file system', () => {
  const failed = (code: string, path: string) => Object.assign(new Error(`${code}: open '${path}'`), { code, path })

  it.each(['EACCES', 'EPERM'])('%s in the data folder is explained with the account of an earlier start', (code) =>
    expect(explainFileError(failed(code, '/data/secret'), '/data')).toMatchObject({
      name: 'OptionError',
      message:
        `${code}: open '/data/secret'. An earlier start may have run as another account, such as root: ` +
        'start as that one, or choose another folder with --data',
    }),
  )

  it('elsewhere stays as it is, like every other error', () => {
    for (const error of [failed('EACCES', '/data-of-others/secret'), new Error('no path'), 'text'])
      expect(explainFileError(error, '/data')).toBe(error)
  })
})
