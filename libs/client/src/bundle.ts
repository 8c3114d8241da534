// The entry point of the browser bundle. `no-eval` must run before any schema is created.
import './platform/no-eval.js'
export * from './index.js'
