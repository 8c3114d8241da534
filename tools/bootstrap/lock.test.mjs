import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { isAlive } from './fixtures.mjs'
import { withLock } from './lock.mjs'
import { Interrupted } from './stop.mjs'

const LOCK = new URL('./lock.mjs', import.meta.url).href

/** Another process that prints "held" when it has the lock, and never releases it. */
async function holder(t, name) {
  const code = `import { withLock } from ${JSON.stringify(LOCK)}
    await withLock(${JSON.stringify(name)}, () => new Promise(() => { console.log('held'); setInterval(() => {}, 1000) }))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

test('work under one name never overlaps', async () => {
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

test('a failure releases the lock, and the value of the work is returned', async () => {
  const name = randomUUID()
  await assert.rejects(
    withLock(name, () => Promise.reject(new Error('no'))),
    /no/,
  )
  assert.equal(await withLock(name, () => 7), 7)
})

test('a waiting process learns the pid of the holder, and gets the lock when the holder is killed', async (t) => {
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

test('a program that a killed holder started keeps the lock until it exits', async (t) => {
  const name = randomUUID()
  // Without the watcher of `run`, which would end the program together with the holder.
  const code = `import { spawn } from 'node:child_process'
    import { heldLocks, withLock } from ${JSON.stringify(LOCK)}
    await withLock(${JSON.stringify(name)}, () => {
      const { pid } = spawn('sleep', ['600'], { stdio: ['ignore', 'ignore', 'ignore', ...heldLocks()], detached: true })
      console.log(pid)
      return new Promise(() => setInterval(() => {}, 1000))
    })`
  const other = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [output] = await once(other.stdout, 'data')
  const program = Number(output)
  t.after(() => isAlive(program) && process.kill(program, 'SIGKILL'))
  other.kill('SIGKILL')
  await once(other, 'exit')
  let entered = false
  const waiting = withLock(name, () => (entered = true))
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.equal(entered, false)
  process.kill(program, 'SIGKILL')
  await waiting
  assert.equal(entered, true)
})

test('an interruption ends the wait', async (t) => {
  const name = randomUUID()
  await holder(t, name)
  const abort = new AbortController()
  const waiting = withLock(name, () => 'in', { signal: abort.signal, onWait: () => abort.abort() })
  await assert.rejects(waiting, Interrupted)
})

test('locks of different names are independent', async () => {
  const inner = await withLock(randomUUID(), () => withLock(randomUUID(), () => 'both'))
  assert.equal(inner, 'both')
})
