// What browsers load as one file. The order matters.
import './platform/no-eval.js'
export * from './index.js'
