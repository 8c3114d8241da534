import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { digest, digestFolder, listFiles, openCache, publish, readStamp, startLog, writeStamp } from './cache.mjs'
import { temporaryFolder, writeTree } from './fixtures.mjs'
import { Stop } from './stop.mjs'

test('a folder is published atomically', async (t) => {
  const root = openCache(temporaryFolder(t))
  const target = await publish(root, 'thing-1', async (folder) => {
    assert.equal(existsSync(join(root, 'thing-1')), false)
    writeFileSync(join(folder, 'a'), 'A')
  })
  assert.equal(readFileSync(join(target, 'a'), 'utf8'), 'A')
  assert.deepEqual(readdirSync(join(root, 'tmp')), [])
})

test('a failure leaves nothing behind', async (t) => {
  const root = openCache(temporaryFolder(t))
  const failing = publish(root, 'thing-1', (folder) => {
    writeFileSync(join(folder, 'half'), 'x')
    throw new Error('disk')
  })
  await assert.rejects(failing, /disk/)
  assert.deepEqual(readdirSync(root), ['tmp'])
  assert.deepEqual(readdirSync(join(root, 'tmp')), [])
})

test('of several simultaneous publications of one folder, exactly one is kept', async (t) => {
  const root = openCache(temporaryFolder(t))
  const fill = (letter) => async (folder) => {
    for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, name), letter)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(['X', 'Y', 'Z'].map((letter) => publish(root, 'thing', fill(letter))))
  const contents = new Set(listFiles(join(root, 'thing')).map((file) => readFileSync(file, 'utf8')))
  assert.equal(contents.size, 1)
  assert.deepEqual(readdirSync(join(root, 'tmp')), [])
})

test('an incomplete folder is replaced, a complete one stays', async (t) => {
  const root = openCache(temporaryFolder(t))
  const publishAs = (text) =>
    publish(
      root,
      'thing',
      (folder) => writeFileSync(join(folder, 'program'), text),
      (folder) => existsSync(join(folder, 'program')),
    )
  writeTree(root, { 'thing/other': 'left by a killed process' })
  await publishAs('first')
  await publishAs('second')
  assert.equal(readFileSync(join(root, 'thing/program'), 'utf8'), 'first')
  assert.deepEqual(readdirSync(join(root, 'thing')), ['program'])
  assert.deepEqual(readdirSync(join(root, 'tmp')), [])
})

test('each process has its own log of a step, and old logs are removed', (t) => {
  const root = openCache(temporaryFolder(t))
  writeTree(root, { 'logs/apt-1.log': 'old', 'logs/apt-2.log': 'new' })
  const threeWeeksAgo = Date.now() / 1000 - 21 * 24 * 3600
  utimesSync(join(root, 'logs/apt-1.log'), threeWeeksAgo, threeWeeksAgo)
  assert.equal(startLog(root, 'apt'), join(root, 'logs', `apt-${process.pid}.log`))
  assert.deepEqual(readdirSync(join(root, 'logs')), ['apt-2.log'])
})

test('leftovers of interrupted runs are deleted after a day, folders of current runs are not', async (t) => {
  const root = openCache(temporaryFolder(t))
  for (const name of ['old', 'new']) mkdirSync(join(root, 'tmp', name))
  const dayAndHour = Date.now() / 1000 - 25 * 3600
  utimesSync(join(root, 'tmp/old'), dayAndHour, dayAndHour)
  await publish(root, 'thing', () => {})
  assert.deepEqual(readdirSync(join(root, 'tmp')), ['new'])
})

test('an unwritable cache is reported with the variable that changes it', (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'file'), '')
  assert.throws(
    () => openCache(join(folder, 'file/cache')),
    (error) => error instanceof Stop && /SESSION_SERVICE_CACHE/.test(error.message),
  )
})

test('digests distinguish the boundaries of parts', () => {
  assert.notEqual(digest('ab', 'c'), digest('a', 'bc'))
  assert.equal(digest('ab', 'c'), digest('ab', 'c'))
})

test('the digest of a folder follows names and contents, not times', (t) => {
  const folder = writeTree(temporaryFolder(t), { 'a/x': '1', 'b/y': '2', 'README.md': 'r' })
  const keep = (name) => name !== 'README.md'
  const first = digestFolder(folder, keep)
  utimesSync(join(folder, 'a/x'), 1, 1)
  writeTree(folder, { 'README.md': 'other words' })
  assert.equal(digestFolder(folder, keep), first)
  writeTree(folder, { 'a/x': '3' })
  assert.notEqual(digestFolder(folder, keep), first)
})

test('a stamp is replaced atomically', (t) => {
  const file = join(temporaryFolder(t), 'deep/stamp')
  assert.equal(readStamp(file), undefined)
  writeStamp(file, 'one')
  writeStamp(file, 'two')
  assert.equal(readStamp(file), 'two')
  assert.deepEqual(readdirSync(join(file, '..')), ['stamp'])
})
