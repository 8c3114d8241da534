import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@session-service/local-stack'
import type { Env } from '../stack/stack-env.js'

const POLL_MS = 20

/** The module that the process loads first. It does not change the monotonic clock. */
const preload = (file: string): string => `import { readFileSync, writeFileSync } from 'node:fs'
const file = ${JSON.stringify(file)}
const real = Date.now
let shift = Number(readFileSync(file, 'utf8'))
globalThis.Date = class extends Date {
  static now() {
    return real() + shift
  }
  constructor(...parts) {
    super(...(parts.length === 0 ? [real() + shift] : parts))
  }
}
setInterval(() => {
  const wanted = Number(readFileSync(file, 'utf8'))
  if (wanted === shift) return
  shift = wanted
  writeFileSync(file + '.applied', String(shift))
}, ${POLL_MS}).unref()`

/** Shifts the wall clock of a process that was started with `env`, at its start and while it runs. */
export class ClockShift {
  readonly #folder = mkdtempSync(join(tmpdir(), 'clock-'))
  readonly #file = join(this.#folder, 'shift')

  constructor(ms = 0) {
    writeFileSync(this.#file, String(ms))
  }

  get env(): Env {
    return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload(this.#file))}` }
  }

  /** Resolves when the wall clock of the process differs by `ms` from the real one. */
  async set(ms: number): Promise<void> {
    if (Number(readFileSync(this.#file, 'utf8')) === ms) return
    const applied = `${this.#file}.applied`
    rmSync(applied, { force: true })
    // The rename is atomic, so the process never reads a partial number.
    writeFileSync(`${this.#file}.new`, String(ms))
    renameSync(`${this.#file}.new`, this.#file)
    await until(`the clock is shifted by ${ms} ms`, () => isText(applied, String(ms)))
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function isText(file: string, text: string): boolean {
  try {
    return readFileSync(file, 'utf8') === text
  } catch {
    return false
  }
}
