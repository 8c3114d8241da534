import { afterEach, expect, it } from '@jest/globals'
import { StallClock } from './stall-clock.js'

const clock = new StallClock()
const listeners: ((isTimely: boolean) => void)[] = []
afterEach(() => listeners.splice(0).forEach((listener) => clock.delete(listener)))

/** Resolves at the next tick, to its argument. */
const tick = (): Promise<boolean> =>
  new Promise((resolve) => {
    listeners.push(resolve)
    clock.add(resolve)
  })

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

it('packets that are read after the event loop was blocked are not timely, until the loop keeps up again', async () => {
  const first = tick()
  expect(clock.isTimely).toBe(true)
  block(500)
  expect(clock.isTimely).toBe(false)
  expect(await first).toBe(false)
  expect(clock.isTimely).toBe(false)
  while (!(await tick()));
  expect(clock.isTimely).toBe(true)
})
