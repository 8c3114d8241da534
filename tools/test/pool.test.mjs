import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inOrder, mostLanes, nextJob, processorTimes, runPool, useLine } from './pool.mjs'

const job = (name, rest) => ({ name, expectedMs: 1_000, ...rest })
const quiet = job('quiet', { quiet: true })
const [a, b] = [job('a'), job('b')]
const light = job('light', { light: true })
const lightQuiet = job('light quiet', { quiet: true, light: true })
const heavy = job('heavy', { heavy: true })

for (const [what, waiting, running, load, expected] of [
  ['the first job starts whatever the load', [a], [], { busy: 1, settled: true }, a],
  ['one job per core starts whatever the load', [a], [b], { busy: 1, settled: true }, a],
  ['no further job starts while the processors are in use', [a], [b, b], { busy: 0.9, settled: true }, undefined],
  ['a further job starts while the processors are idle', [a], [b, b], { busy: 0.3, settled: true }, a],
  ['the load of a job that has just started is waited for', [a], [b, b], { busy: 0.3, settled: false }, undefined],
  ['a heavy job starts beside one other', [heavy, a], [heavy, b], { busy: 0.3, settled: true }, heavy],
  ['no third heavy job starts, but another one does', [heavy, a], [heavy, heavy], { busy: 0.3, settled: true }, a],
  ['a heavy job waits for the others', [heavy], [heavy, heavy], { busy: 0, settled: true }, undefined],
  ['there is a most of lanes', [a], [b, b, b, b, b], { busy: 0, settled: true }, undefined],
  ['a quiet job starts beside one other', [quiet, a], [b], { busy: 0.3, settled: true }, quiet],
  [
    'a quiet job waits for busy processors, and the others for it',
    [quiet, a],
    [b, b],
    { busy: 0.6, settled: true },
    undefined,
  ],
  [
    'a quiet job starts beside others while the processors are idle',
    [quiet, a],
    [b, b],
    { busy: 0.3, settled: true },
    quiet,
  ],
  ['quiet jobs run one after another', [quiet], [quiet], { busy: 0, settled: true }, undefined],
  [
    'a light quiet job starts beside another one before other jobs',
    [quiet, lightQuiet, light],
    [lightQuiet],
    { busy: 1, settled: true },
    lightQuiet,
  ],
  [
    'a light quiet job starts beside another one and a further job while the processors are idle',
    [lightQuiet],
    [lightQuiet, a],
    { busy: 0.3, settled: true },
    lightQuiet,
  ],
  [
    'a light quiet job waits for busy processors also beside another one',
    [lightQuiet],
    [lightQuiet, a],
    { busy: 0.6, settled: true },
    undefined,
  ],
  ['a light quiet job waits for one that is not light', [lightQuiet, a], [quiet], { busy: 0, settled: true }, a],
  ['a quiet job that is not light waits for a light one', [quiet, a], [lightQuiet], { busy: 0, settled: true }, a],
  [
    'no third light quiet job starts beside two',
    [lightQuiet, a],
    [lightQuiet, lightQuiet],
    { busy: 0.3, settled: true },
    a,
  ],
  ['one other starts beside a quiet job', [quiet, a], [quiet], { busy: 1, settled: true }, a],
  ['a light job starts beside a quiet job before longer ones', [a, light], [quiet], { busy: 1, settled: true }, light],
  [
    'a second one starts beside a quiet job while the processors are idle',
    [a],
    [quiet, b],
    { busy: 0, settled: true },
    a,
  ],
  ['no second one starts beside a quiet job otherwise', [a], [quiet, b], { busy: 0.6, settled: true }, undefined],
  ['no fourth one starts beside a quiet job', [a], [quiet, b, b, b], { busy: 0, settled: true }, undefined],
])
  test(`the pool: ${what}`, () => {
    assert.equal(nextJob(waiting, running, { ...load, cores: 2 }), expected)
  })

test('quiet jobs come first, then the longest', () => {
  const [short, long] = [job('short', { expectedMs: 1 }), job('long', { expectedMs: 9 })]
  assert.deepEqual(inOrder([short, quiet, long]), [quiet, long, short])
})

test('all jobs run, in lanes of their own', async () => {
  const lanes = new Set()
  const ended = []
  const jobs = Array.from({ length: 12 }, (_, number) => ({
    expectedMs: number,
    run: async (lane) => {
      assert.equal(lanes.has(lane), false)
      lanes.add(lane)
      await new Promise((done) => setTimeout(done, 20))
      lanes.delete(lane)
      ended.push(number)
    },
  }))
  await runPool(jobs, 2)
  assert.equal(ended.length, 12)
  assert.equal(mostLanes(2), 5)
})

test('the pool reports the use of the processors beside quiet jobs and without them', async () => {
  const run = () => new Promise((done) => setTimeout(done, 600))
  const { besideQuiet, others } = await runPool([{ expectedMs: 1, quiet: true, run }], 2)
  assert.ok(besideQuiet.ms > 0 && besideQuiet.busy <= besideQuiet.total)
  assert.equal(others.ms, 0)
  const half = { busy: 30_000, total: 60_000, ms: 90_000 }
  assert.equal(
    useLine({ besideQuiet: half, others: { busy: 15_000, total: 60_000, ms: 60_000 } }),
    'processors used: 45 s; 50 % in 1.5 min beside quiet files, 25 % in 1.0 min without quiet files',
  )
})

test('after a job that rejects no further one starts, and the error is thrown', async () => {
  let started = 0
  const run = async () => {
    started++
    throw new Error('broken')
  }
  await assert.rejects(runPool(Array.from({ length: 20 }, () => ({ expectedMs: 1, run }))), /broken/)
  assert.ok(started < 20)
})

test('processor time of lower priority counts as idle, unless the run itself has a lower priority', () => {
  const processors = [{ times: { user: 100, nice: 300, sys: 50, irq: 0, idle: 550 } }]
  assert.deepEqual(processorTimes(processors, 0), { idle: 850, total: 1000 })
  assert.deepEqual(processorTimes(processors, -5), { idle: 850, total: 1000 })
  assert.deepEqual(processorTimes(processors, 10), { idle: 550, total: 1000 })
})
