import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from '@jest/globals'

const FIXTURE = fileURLToPath(new URL('./fixtures/idle-heap.js', import.meta.url))

it('an idle process gives the memory of its garbage back', async () => {
  const program = spawn(process.execPath, [FIXTURE], { stdio: 'inherit' })
  expect(await once(program, 'exit')).toEqual([0, null])
})
