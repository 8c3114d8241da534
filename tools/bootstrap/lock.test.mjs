import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { withLock } from './lock.mjs'
import { Interrupted } from './stop.mjs'

const LOCK = new URL('./lock.mjs', import.meta.url).href

/** Another process that says "held" when it has the lock and never lets go. */
async function holder(t, name) {
  const code = `import { withLock } from ${JSON.stringify(LOCK)}
    await withLock(${JSON.stringify(name)}, () => new Promise(() => { console.log('held'); setInterval(() => {}, 1000) }))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

test('one at a time', async () => {
  const name = randomUUID()
  let inside = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setTimeout(resolve, 5))
    inside--
  }
  await Promise.all(Array.from({ length: 8 }, () => withLock(name, work)))
  assert.equal(most, 1)
})

test('the lock is free again after a failure, and the value comes through', async () => {
  const name = randomUUID()
  await assert.rejects(
    withLock(name, () => Promise.reject(new Error('no'))),
    /no/,
  )
  assert.equal(await withLock(name, () => 7), 7)
})

test('who waits is told of the holder, and gets in when it is killed', async (t) => {
  const name = randomUUID()
  const other = await holder(t, name)
  const seen = []
  const entered = withLock(name, () => 'in', {
    onWait: (pid) => {
      seen.push(pid)
      other.kill('SIGKILL')
    },
  })
  assert.equal(await entered, 'in')
  assert.deepEqual(seen, [other.pid])
})

test('waiting ends with an interruption', async (t) => {
  const name = randomUUID()
  await holder(t, name)
  const abort = new AbortController()
  const waiting = withLock(name, () => 'in', { signal: abort.signal, onWait: () => abort.abort() })
  await assert.rejects(waiting, Interrupted)
})

test('two names do not know each other', async () => {
  const inner = await withLock(randomUUID(), () => withLock(randomUUID(), () => 'both'))
  assert.equal(inner, 'both')
})
