import { TestEnvironment } from 'jest-environment-node'
import { scaleState } from './scale-timeouts.mjs'

/** The environment of unit tests: the time-outs of tests and hooks are scaled by TEST_SLOWNESS. */
export default class ScaledEnvironment extends TestEnvironment {
  handleTestEvent(event, state) {
    if (event.name === 'run_start') scaleState(state)
  }
}
