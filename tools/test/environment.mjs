import { TestEnvironment } from 'jest-environment-node'
import { scaleTimeouts } from './scale-timeouts.mjs'

/** The environment of all tests: the time-outs of tests and hooks are scaled by TEST_SLOWNESS. */
export default class ScaledEnvironment extends TestEnvironment {
  handleTestEvent(event, state) {
    if (event.name !== 'run_start') return
    const slowness = Number(process.env.TEST_SLOWNESS ?? 1)
    state.testTimeout *= slowness
    scaleTimeouts(state.rootDescribeBlock, slowness)
  }
}
