import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'

/** Result of `measureMachine` on the reference machine: two idle cores, Debian 12, Node 24. */
const REFERENCE_MS = 150
const ROUNDS = 3
/** Maximum factor: a larger one would hide hangs. */
const MOST = 8

const WORK = `const { createHash } = require('node:crypto')
const block = Buffer.alloc(1 << 20, 7)
for (let count = 0; count < 96; count++) createHash('sha256').update(block).digest()`

/** How many times slower than the reference machine this one is: 1 to 8, two decimals. */
export const slownessOf = (measuredMs) =>
  Math.min(MOST, Math.max(1, Math.round((measuredMs / REFERENCE_MS) * 100) / 100))

/** Wall time of one process per core that starts and computes, median of three, ms; includes the load of other processes. */
export async function measureMachine(work = WORK) {
  const times = []
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: availableParallelism() }, () => run(work)))
    times.push(performance.now() - startedAt)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]
}

async function run(work) {
  const [code] = await once(spawn(process.execPath, ['--eval', work], { stdio: 'ignore' }), 'close')
  if (code !== 0) throw new Error(`the speed of the machine cannot be measured: node exited with ${code}`)
}
