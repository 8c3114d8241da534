import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { z } from 'zod'
import { deliveryTo, jobOf } from '../fixtures/jobs.js'
import { claimName, Journal, type Notes } from './journal.js'
import { SELF } from './owner.js'

const SILENT_MS = 60_000
const Written = z.looseObject({ owner: z.looseObject({ pid: z.number() }) })

let folder: string
let notes: Notes
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'journal-'))
  const job = jobOf('room', await deliveryTo(join(folder, 'masters')))
  notes = { job, startedAt: 1, state: 'recording', files: [] }
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const path = (): string => join(folder, 'job.json')
/** Writes a journal with another owner. */
async function writeAs(owner: Record<string, unknown>): Promise<void> {
  await new Journal(folder).write(notes)
  const written = Written.parse(JSON.parse(await readFile(path(), 'utf8')))
  await writeFile(path(), JSON.stringify({ ...written, owner: { ...written.owner, ...owner } }))
}

it('a job of a process of this machine is claimed as soon as the process is dead, and not before', async () => {
  await new Journal(folder).write(notes)
  expect(await new Journal(folder).claim(Date.now() + 10 * SILENT_MS)).toBeUndefined()
  await writeAs({ since: 'another process of this id' })
  expect(await new Journal(folder).claim()).toEqual(expect.objectContaining(notes))
})

it('one of many concurrent claims of a job succeeds', async () => {
  for (let time = 0; time < 20; time += 1) {
    await writeAs({ since: 'another process of this id' })
    const claimed = await Promise.all(Array.from({ length: 8 }, () => new Journal(folder).claim()))
    expect(claimed.filter((each) => each !== undefined)).toHaveLength(1)
    expect((await readdir(folder)).toSorted()).toEqual(['job.json', 'masters'])
  }
})

it('a job that another process claims is not claimed, unless that process died during the claim', async () => {
  await writeAs({ since: 'another process of this id' })
  const dead = { ...SELF, since: 'a third one' }
  const [inWork, abandoned] = [claimName(SELF), claimName(dead)].map((name) => join(folder, name))
  await rename(path(), inWork!)
  expect(await new Journal(folder).claim(Date.now() + 10 * SILENT_MS)).toBeUndefined()
  await rename(inWork!, abandoned!)
  expect(await new Journal(folder).claim()).toEqual(expect.objectContaining(notes))
  expect((await readdir(folder)).toSorted()).toEqual(['job.json', 'masters'])
})

it.each([
  ['on another machine', { host: 'elsewhere' }],
  ['in another container with the same name of the host', { pids: 'another boot or container', since: '1' }],
  ['of which it is not known in which container it was', { pids: undefined, since: '1' }],
])('a job of a process %s is claimed after a long silence', async (_, owner) => {
  await writeAs(owner)
  expect(await new Journal(folder).claim(Date.now() + SILENT_MS - 5_000)).toBeUndefined()
  expect(await new Journal(folder).claim(Date.now() + SILENT_MS + 5_000)).toEqual(expect.objectContaining(notes))
})

it.each([[[]], [['job.json.new']]])('an old folder that contains only %j is removed', async (names) => {
  const own = join(folder, 'ses.1')
  await mkdir(own)
  for (const name of names) await writeFile(join(own, name), '{"own')
  await new Journal(own).sweep()
  expect(await readdir(own)).toEqual(names)
  await new Journal(own).sweep(Date.now() + SILENT_MS + 5_000)
  expect(await readdir(folder)).toEqual(['masters'])
})

it('an old folder with other files is kept', async () => {
  await new Journal(folder).write(notes)
  await new Journal(folder).sweep(Date.now() + 10 * SILENT_MS)
  expect((await readdir(folder)).toSorted()).toEqual(['job.json', 'masters'])
})

it('the owner of a job touches the journal until the job ends', async () => {
  await writeAs({ host: 'elsewhere' })
  const long = new Date(Date.now() - 10 * SILENT_MS)
  const isFresh = async (): Promise<boolean> => (await stat(path())).mtimeMs > long.getTime()
  await utimes(path(), long, long)
  const end = new Journal(folder).keepAlive(5)
  await until('it is touched', isFresh)
  expect(await new Journal(folder).claim()).toBeUndefined()
  end()
})
