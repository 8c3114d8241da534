// What the pages of custom recording layouts load as one file. The order matters.
import './no-eval.js'
export * from './index.js'
export { connectRecorder } from './recorder.js'
