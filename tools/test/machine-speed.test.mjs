import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureMachine, slownessOf } from './machine-speed.mjs'
import { scaleTimeouts } from './scale-timeouts.mjs'

test('a machine as fast as the reference or faster keeps the time budgets', () => {
  assert.equal(slownessOf(1), 1)
  assert.equal(slownessOf(150), 1)
})

test('a slower machine scales the time budgets, up to eight times', () => {
  assert.equal(slownessOf(225), 1.5)
  assert.equal(slownessOf(100_000), 8)
})

test('the measurement is the run time of processes that exit successfully', async () => {
  assert.ok((await measureMachine('')) > 0)
  await assert.rejects(measureMachine('process.exit(3)'), /node exited with 3/)
})

test('every explicit timeout of a test or hook is scaled, and the default timeout is not set', () => {
  const block = {
    hooks: [{ timeout: 10 }, { timeout: undefined }],
    tests: [{ timeout: 20 }],
    children: [
      { type: 'test' },
      { type: 'describeBlock', hooks: [], tests: [{ timeout: 30 }, { timeout: undefined }], children: [] },
    ],
  }
  scaleTimeouts(block, 2)
  assert.deepEqual(block.hooks, [{ timeout: 20 }, { timeout: undefined }])
  assert.deepEqual(block.tests, [{ timeout: 40 }])
  assert.deepEqual(block.children[1].tests, [{ timeout: 60 }, { timeout: undefined }])
})
