import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Without an earlier run a file is taken to last as long as files of its kind and size do, ms per byte. */
const MS_PER_BYTE = { integration: 2, media: 5, browser: 6, kubernetes: 20 }

/**
 * How long test files took in earlier runs, by suite and name. Only the order of files depends on it. It is kept where
 * the bootstrap keeps its downloads, thus for all clones of the machine.
 */
export class Durations {
  #file
  #known

  constructor(file) {
    this.#file = file
    this.#known = read(file)
  }

  /** ms; of a source file by its kind and size where no run is known. */
  expected(suite, kind, file, source) {
    return this.#known[key(suite, file)] ?? statSync(source).size * MS_PER_BYTE[kind]
  }

  note(suite, file, ms) {
    this.#known[key(suite, file)] = Math.round(ms)
  }

  save() {
    mkdirSync(dirname(this.#file), { recursive: true })
    const temporary = `${this.#file}.${process.pid}`
    writeFileSync(temporary, JSON.stringify(this.#known))
    renameSync(temporary, this.#file)
  }
}

export const durationsFile = (root, env = process.env) =>
  env.SESSION_SERVICE_CACHE
    ? join(env.SESSION_SERVICE_CACHE, 'test-durations.json')
    : join(root, 'node_modules/.cache/test-durations.json')

// A file that is moved keeps its time.
const key = (suite, file) => `${suite} ${file.slice(file.lastIndexOf('/') + 1)}`

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}
