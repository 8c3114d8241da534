// What the pages of custom recording layouts load as one file. The order matters.
import './platform/no-eval.js'
export * from './index.js'
export { connectRecorder } from './session/recorder.js'
