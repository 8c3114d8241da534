import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { childrenOf } from '../../fixtures/processes.js'
import { Screen } from './screen.js'

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'screen-'))))
afterEach(() => rm(folder, { recursive: true, force: true }))

it('a screen that is aborted while it opens leaves no process running', async () => {
  const before = childrenOf(process.pid)
  // It exits with its standard input and never reports that it is ready.
  const program = join(folder, 'program')
  await writeFile(program, '#!/bin/sh\nread line\n', { mode: 0o700 })
  const programs = { chromium: program, xvfb: program, pulseaudio: program, ffmpeg: program }
  const signal = AbortSignal.abort(new Error('stopped'))
  const opened = Screen.open({ programs, folder, hasAudio: true, width: 320, height: 180, signal })
  await expect(opened).rejects.toThrow('stopped')
  // After the steps before the screen.
  await until('its key is written', async () => (await stat(join(folder, 'xauthority'))).size > 0)
  await pause(0)
  expect(childrenOf(process.pid).filter((pid) => !before.includes(pid))).toEqual([])
})
