import { ModernFakeTimers } from '@jest/fake-timers'
import { ModuleMocker } from 'jest-mock'

const MOCKS = ['fn', 'spyOn', 'restoreAllMocks']
const TIMERS = [
  'advanceTimersByTime',
  'advanceTimersByTimeAsync',
  'clearAllTimers',
  'getTimerCount',
  'setSystemTime',
  'useRealTimers',
]

const timers = new ModernFakeTimers({ global: globalThis, config: { rootDir: process.cwd(), fakeTimers: {} } })
const mocker = new ModuleMocker(globalThis)

const methods = (object, names) => Object.fromEntries(names.map((name) => [name, object[name].bind(object)]))

/** The part of `jest` that test files use, apart from `setTimeout`. */
export const jestObject = {
  ...methods(mocker, MOCKS),
  ...methods(timers, TIMERS),
  // Streams of Node call the same function, and would stand still.
  useFakeTimers: ({ doNotFake = [], ...config } = {}) =>
    timers.useFakeTimers({ ...config, doNotFake: [...doNotFake, 'nextTick'] }),
}

/** Real timers and functions for the next file, whatever the last one has left. */
export function restoreReal() {
  timers.useRealTimers()
  mocker.restoreAllMocks()
}
