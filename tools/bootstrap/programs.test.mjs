import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCache } from './cache.mjs'
import { recordedReport, temporaryFolder, writeProgram } from './fixtures.mjs'
import { ensureFirefox } from './programs.mjs'

/** A machine with these programs only, where nothing can be installed. */
function machine(t, programs) {
  const folder = temporaryFolder(t)
  for (const name of programs) writeProgram(join(folder, 'bin', name), '#!/bin/sh\nexit 1\n')
  const { report, text } = recordedReport()
  return {
    context: { cache: openCache(join(folder, 'cache')), env: { PATH: join(folder, 'bin') }, report },
    folder,
    text,
  }
}

test('the Firefox of the distribution is used', async (t) => {
  const { context, folder } = machine(t, ['firefox-esr'])
  assert.equal(await ensureFirefox(context), join(folder, 'bin/firefox-esr'))
})

test('without a Firefox that can be used the bootstrap continues, and tests that need it are skipped', async (t) => {
  const { context, text } = machine(t, ['firefox-esr'])
  context.env.FIREFOX_BIN = '/nowhere/firefox'
  assert.equal(await ensureFirefox(context), undefined)
  assert.match(text(), /Firefox: FIREFOX_BIN names \/nowhere\/firefox.* Tests that need it are skipped\./)
})
