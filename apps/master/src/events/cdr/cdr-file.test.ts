import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { SmallDisk } from '../../system/fixtures/small-disk.js'
import { CdrFile, expired } from './cdr-file.js'

const NOW = new Date('2026-11-30T12:00:00Z')
const file = (name: string, bytes = 1) => ({ name: `CDR.${name}.log`, bytes })

describe('the files of call records to delete', () => {
  const byName = [
    file('2026-10-30_23-59-59'),
    file('2026-10-31_00-00-00'),
    file('2026-11-29_08-00-00', 4),
    file('2026-11-30_00-00-00', 4),
    file('2026-11-30_11-00-00', 4),
  ]
  it.each([
    ['those that began more than 30 days ago', byName, 100, ['2026-10-30_23-59-59']],
    ['the oldest beyond the size', byName, 12, ['2026-10-31_00-00-00', '2026-10-30_23-59-59']],
    ['none of today', byName, 1, ['2026-11-29_08-00-00', '2026-10-31_00-00-00', '2026-10-30_23-59-59']],
    [
      'none for the number of files',
      Array.from({ length: 60 }, (_, nth) => file(`2026-11-29_00-00-${String(nth).padStart(2, '0')}`)),
      100,
      [],
    ],
  ])('are %s', (_, files, mostBytes, expected) => {
    expect(expired(files, NOW, mostBytes)).toEqual(expected.map((name) => `CDR.${name}.log`))
  })
})

describe('the file of call records', () => {
  let folder: string
  let records: CdrFile
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cdr-'))
    records = new CdrFile(folder)
  })
  afterEach(async () => {
    await records.close()
    await rm(folder, { recursive: true })
  })

  it('begins with each start and each day, and the first record deletes old files and no other file', async () => {
    const others = ['CDR.2026-11-01_00-00-00.log', 'CDR.2026-10-01.log', 'notes.txt']
    for (const name of [...others, 'CDR.2026-10-01_00-00-00.log']) await writeFile(join(folder, name), '')
    await records.append(['one', 'two'], NOW)
    await records.append(['three'], new Date('2026-11-30T23:59:59Z'))
    await records.append(['four'], new Date('2026-12-01T00:00:00Z'))
    expect(await readFile(join(folder, 'CDR.2026-11-30_12-00-00.log'), 'utf8')).toBe('one\ntwo\nthree\n')
    expect(await readFile(join(folder, 'CDR.2026-12-01_00-00-00.log'), 'utf8')).toBe('four\n')
    const own = ['CDR.2026-11-30_12-00-00.log', 'CDR.2026-12-01_00-00-00.log']
    expect((await readdir(folder)).toSorted()).toEqual([...others, ...own].toSorted())
  })
})

describe('a full volume of call records', () => {
  const disk = SmallDisk.make(2)
  const inCase = disk ? it : it.skip
  const ofDay = (day: number): string => join(disk?.path ?? '', `CDR.2026-11-${day}_00-00-00.log`)
  const record = 'x'.repeat(200_000)

  inCase(
    'gives room for the next attempt, without a part of a record and for the price of the oldest file',
    async () => {
      const records = new CdrFile(disk?.path ?? '')
      try {
        await records.append(['first'], NOW)
        for (const day of [28, 29]) await writeFile(ofDay(day), 'x'.repeat(950_000))
        disk?.fill()
        const written = join(disk?.path ?? '', 'CDR.2026-11-30_12-00-00.log')
        await expect(records.append([record], NOW)).rejects.toMatchObject({ code: 'ENOSPC' })
        expect(await readFile(written, 'utf8')).toBe('first\n')
        await records.append([record], NOW)
        expect(await readFile(written, 'utf8')).toBe(`first\n${record}\n`)
        await expect(readFile(ofDay(28))).rejects.toMatchObject({ code: 'ENOENT' })
        expect(await readFile(ofDay(29), 'utf8')).toHaveLength(950_000)
      } finally {
        await records.close()
        disk?.remove()
      }
    },
  )
})
