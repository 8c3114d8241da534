// What browsers load as one file. The order matters.
import './no-eval.js'
export * from './index.js'
