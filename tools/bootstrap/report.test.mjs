import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordedReport } from './fixtures.mjs'
import { duration } from './report.mjs'
import { Stop } from './stop.mjs'

test('durations are shown in seconds, then in minutes', () => {
  assert.equal(duration(90), '0.1 s')
  assert.equal(duration(59_940), '59.9 s')
  assert.equal(duration(59_999), '1 min 0 s')
  assert.equal(duration(217_300), '3 min 37 s')
})

test('a prepared machine gets one line', async () => {
  const { report, text } = recordedReport({ now: () => 0 })
  await report.step('Node', () => ({ ready: true, note: 'cached' }))
  await report.step('packages', () => ({ ready: true }))
  report.done('everything is in place')
  assert.equal(text(), '✓ everything is in place (0.0 s)\n')
})

test('a warning is printed also on a prepared machine', async () => {
  const { report, text } = recordedReport({ now: () => 0 })
  await report.step('Node', () => ({ ready: true, note: 'cached' }))
  report.warn('recording is disabled')
  report.done('everything is in place')
  assert.equal(text(), '! recording is disabled\n✓ everything is in place (0.0 s)\n')
})

test('with work to do each step has a line, in order, long ones with their duration', async () => {
  let clock = 0
  const { report, text } = recordedReport({ now: () => clock })
  await report.step('Node', () => ({ ready: true, note: 'cached' }))
  await report.step('worker', () => {
    clock += 217_000
    return { note: 'built' }
  })
  await report.step('build', () => ({ ready: true }))
  report.done('everything is in place')
  assert.equal(text(), '✓ Node (cached)\n✓ worker (built, 3 min 37 s)\n✓ build\n  ready after 3 min 37 s\n')
})

test('a step returns its value', async () => {
  const { report } = recordedReport()
  assert.equal(await report.step('x', () => ({ value: '/bin/x', ready: true })), '/bin/x')
  assert.equal(await report.step('y', () => undefined), undefined)
})

test('a failure names its step, its reason and its log in one line', async () => {
  const { report, text } = recordedReport()
  const failing = report.step('npm packages', () => {
    throw new Stop('the disk is full.', { log: '/c/logs/x.log' })
  })
  const error = await failing.catch((reason) => reason)
  report.fail(error)
  assert.equal(text(), '✗ npm packages: the disk is full. The details are in /c/logs/x.log\n')
})

test('a terminal shows the state of a long step in a temporary line', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let clock = 0
  const { report, text } = recordedReport({ now: () => clock, tty: true })
  await report.step('worker', (say) => {
    say('compiling 3 of 280')
    clock = 2000
    t.mock.timers.tick(250)
    return {}
  })
  assert.match(text(), /worker: compiling 3 of 280 \(2\.0 s\)/)
  assert.ok(text().split('\r').at(-1).includes('✓'), 'the line of the state is written over')
})

test('without a terminal a long step is printed at once and then periodically', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let clock = 0
  const { report, text } = recordedReport({ now: () => clock })
  await report.step('worker', (say) => {
    say('compiling')
    for (clock = 500; clock <= 61_000; clock += 500) t.mock.timers.tick(500)
    return {}
  })
  assert.equal(text().match(/… worker: compiling/g)?.length, 2)
})
