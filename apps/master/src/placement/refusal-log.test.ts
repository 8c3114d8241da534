import { expect, it } from '@jest/globals'
import { RefusalLog } from './refusal-log.js'

it('logs one line a second at most, and the number of those between', () => {
  let now = 0
  const lines: unknown[] = []
  const log = new RefusalLog({ warn: (...line: unknown[]) => void lines.push(line) }, () => now)
  for (const [time, message] of [
    [5, 'first'],
    [400, 'second'],
    [1_004, 'third'],
    [1_005, 'fourth'],
    [9_000, 'fifth'],
  ] as const) {
    now = time
    log.warn(message)
  }
  expect(lines).toEqual([
    [{ unlogged: 0 }, 'first'],
    [{ unlogged: 2 }, 'fourth'],
    [{ unlogged: 0 }, 'fifth'],
  ])
})
