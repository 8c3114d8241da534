import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { Grabber } from './grabber.js'

/** Writes a fragment to its last argument at once and then ten times a second, until it reads a line. */
const WRITER = `#!/bin/sh
for file; do :; done
while echo moof >> "$file"; do sleep 0.1; done & writer=$!
read line
kill $writer
`

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'grabber-'))))
afterEach(() => rm(folder, { recursive: true, force: true }))

async function grab(wallClock: () => number): Promise<Grabber> {
  const program = join(folder, 'program')
  await writeFile(program, WRITER, { mode: 0o700 })
  const screen = { width: 320, height: 180 }
  const input = { program, display: ':0', env: {}, screen, frameRate: 15, hasAudio: true }
  const grabber = new Grabber({ ...input, file: join(folder, 'file'), wallClock })
  await grabber.writing(new AbortController().signal)
  return grabber
}

it.each([-3_600_000, 3_600_000])('a clock that is set by %s ms ends the recording in order', async (stepMs) => {
  let step = 0
  const grabber = await grab(() => performance.now() + step)
  step = stepMs
  expect(await grabber.failed).toMatch(new RegExp(`^the clock of the media node was set by ${stepMs} ms$`))
  expect(await grabber.stop()).toBe(false)
})
