import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCache } from './cache.mjs'
import { recordedReport, temporaryFolder, writeProgram } from './fixtures.mjs'
import { ensureScreen } from './screen.mjs'

/** A machine with these programs only, where nothing can be installed. */
function machine(t, programs) {
  const folder = temporaryFolder(t)
  for (const name of ['sudo', 'apt-get', 'dpkg']) writeProgram(join(folder, name), '#!/bin/sh\nexit 1\n')
  const { report, text } = recordedReport()
  const env = { PATH: `${folder}:${process.env.PATH}` }
  const has = (name) => (programs.includes(name) ? name : undefined)
  const ensure = (optional) =>
    ensureScreen(
      { cache: openCache(join(folder, 'cache')), env, uid: 1000, report },
      { optional, find: has, browser: () => has('chromium') },
    )
  return { ensure, text }
}

test('installed programs are used', async (t) => {
  const { ensure, text } = machine(t, ['Xvfb', 'pulseaudio', 'chromium'])
  await ensure(false)
  await ensure(true)
  assert.doesNotMatch(text(), /not recorded/)
})

test('a required screen that cannot be installed fails with the missing packages', async (t) => {
  const { ensure } = machine(t, ['Xvfb', 'apt-get'])
  await assert.rejects(ensure(false), { name: 'Stop', message: /"sudo apt-get install -y pulseaudio"/ })
})

test('without root the bootstrap continues with a warning that custom layouts are not recorded', async (t) => {
  const { ensure, text } = machine(t, ['chromium', 'apt-get'])
  await ensure(true)
  assert.match(text(), /! custom layouts are not recorded: .*"sudo apt-get install -y xvfb pulseaudio"/)
})

test('without apt-get the message names the packages', async (t) => {
  const { ensure, text } = machine(t, ['chromium'])
  await ensure(true)
  assert.match(text(), /there is no apt-get here: install xvfb pulseaudio in/)
})

test('without a browser nothing is installed', async (t) => {
  const { ensure, text } = machine(t, ['apt-get'])
  await ensure(true)
  assert.equal(text(), '')
})
