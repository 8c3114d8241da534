// The entry point of the bundle for custom recording layouts. `no-eval` must run before any schema is created.
import './platform/no-eval.js'
export * from './index.js'
export { connectRecorder } from './session/recorder.js'
