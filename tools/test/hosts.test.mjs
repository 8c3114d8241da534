import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Hosts } from './hosts.mjs'

const folder = mkdtempSync(join(tmpdir(), 'hosts-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const ENV = { TEST_LANE: '1/5', TEST_SLOWNESS: '1' }

/** Runs test files one after another in the same lane; the outcomes. */
async function run(sources, options) {
  const hosts = new Hosts()
  try {
    const outcomes = []
    for (const [name, source] of Object.entries(sources)) {
      const file = join(folder, `${name}.test.mjs`)
      writeFileSync(file, `import { afterAll, expect, jest, test } from '@jest/globals'\n${source}`)
      outcomes.push(await hosts.run({ file, results: join(folder, `${name}.json`), env: ENV, ...options }))
    }
    return outcomes
  } finally {
    await hosts.close()
  }
}

const counts = (outcomes) => outcomes.map(({ passed, failed }) => [passed, failed])
const PID = `test('pid ' + process.pid, () => {})`
const pidOf = ({ tests }) => /pid (\d+)/.exec(tests.map((each) => each.test).join())[1]
const pids = (outcomes) => outcomes.map(pidOf)

test('files of a lane share a process and the modules in it, and each has its own counts and output', async () => {
  writeFileSync(join(folder, 'shared.mjs'), `console.log('loaded')`)
  const source = (word) => `import './shared.mjs'\nconsole.log('${word}')\n${PID}`
  const outcomes = await run({ first: source('one'), second: source('two') })
  assert.deepEqual(counts(outcomes), [
    [1, 0],
    [1, 0],
  ])
  assert.equal(new Set(pids(outcomes)).size, 1)
  // The report is on another stream, which may be read before or after.
  const report = (name) => new RegExp(`^PASS .*${name}\\.test\\.mjs\\n {2}✓ pid \\d+.*\\n`, 'm')
  const printed = ({ output }, name) => (assert.match(output, report(name)), output.replace(report(name), ''))
  assert.equal(printed(outcomes[0], 'first'), 'loaded\none\n')
  assert.equal(printed(outcomes[1], 'second'), 'two\n')
  assert.ok(outcomes.every(({ processorMs }) => processorMs >= 0) && outcomes[0].processorMs > 0)
})

test('hooks, time-outs and variables of a file end with it, also those that shared modules set', async () => {
  writeFileSync(
    join(folder, 'helper.mjs'),
    `import { afterAll } from '@jest/globals'\nexport const hook = (word) => afterAll(() => console.log('hook of ' + word))`,
  )
  const outcomes = await run({
    changes: `import { hook } from './helper.mjs'
      hook('changes')
      jest.setTimeout(10)
      process.env.TEST_LANE = 'changed'
      process.env.ADDED = 'yes'
      test('good', () => {})`,
    looks: `import { hook } from './helper.mjs'
      hook('looks')
      test('waits', () => new Promise((done) => setTimeout(done, 60)))
      test('reads', () => expect([process.env.TEST_LANE, process.env.ADDED]).toEqual(['1/5', undefined]))`,
  })
  assert.deepEqual(counts(outcomes), [
    [1, 0],
    [2, 0],
  ])
  assert.deepEqual(
    outcomes.map(({ output }) => output.match(/hook of \w+/g)),
    [['hook of changes'], ['hook of looks']],
  )
})

test('fake timers move the clock of a file, whose streams go on, and end with it, as replaced functions do', async () => {
  const outcomes = await run({
    fakes: `import { Readable } from 'node:stream'
      jest.useFakeTimers({ now: 5 })
      test('waits', async () => {
        const waited = jest.fn()
        setTimeout(waited, 1000)
        jest.advanceTimersByTime(999)
        expect(waited).not.toHaveBeenCalled()
        await jest.advanceTimersByTimeAsync(1)
        expect([waited.mock.calls.length, Date.now(), jest.getTimerCount()]).toEqual([1, 1005, 0])
      })
      test('reads', async () => expect(await Readable.from(['a', 'b']).toArray()).toEqual(['a', 'b']))
      test('replaces', () => expect(jest.spyOn(Math, 'max').mockReturnValue(7)(1, 2)).toBe(7))`,
    looks: `test('waits', () => new Promise((done) => setTimeout(done, 1)))
      test('knows the time', () => expect(Date.now()).toBeGreaterThan(1e12))
      test('calculates', () => expect(Math.max(1, 2)).toBe(2))`,
  })
  assert.deepEqual(counts(outcomes), [
    [3, 0],
    [3, 0],
  ])
})

test('a file that fails or crashes ends its process, and the next file has a new one', async () => {
  const outcomes = await run({
    fails: `${PID}\ntest('bad', () => expect(1).toBe(2))`,
    passes: PID,
    crashes: `test('ends the process', () => process.exit(3))`,
    goes: PID,
  })
  assert.deepEqual(counts(outcomes), [
    [1, 1],
    [1, 0],
    [0, 1],
    [1, 0],
  ])
  assert.match(outcomes[0].output, /● bad[^]*Expected: 2/)
  assert.equal(new Set(pids([outcomes[0], outcomes[1], outcomes[3]])).size, 3)
})

test('an open handle that a file leaves fails that file, and the output names it', async () => {
  const leaves = `import net from 'node:net'; test('leaves a server', () => { net.createServer().listen(0) })`
  const [first, left, last] = await run({ before: PID, leaves, later: PID }, { endTimeoutMs: 500 })
  assert.deepEqual(counts([first, left, last]), [
    [1, 0],
    [1, 1],
    [1, 0],
  ])
  assert.match(left.output, /open: .*1 TCPServerWrap/)
})

test('a process ends after twelve files, or as many as the caller says', async () => {
  const sources = Object.fromEntries(Array.from({ length: 13 }, (_, number) => [`file-${number}`, PID]))
  const shares = (outcomes) => [...Map.groupBy(pids(outcomes), (pid) => pid).values()].map(({ length }) => length)
  assert.deepEqual(shares(await run(sources)), [12, 1])
  assert.deepEqual(shares(await run(sources, { mostFiles: Infinity })), [13])
})
