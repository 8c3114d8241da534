import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { END } from './end-of-file.mjs'
import { processorMs } from './processor-time.mjs'
import { endWhenDone, isInterrupted, NOTHING, outcomeOf, Output, ROOT, startTests } from './test-process.mjs'

/** After this many files a process has collected more memory than its modules are worth; unit tests keep little of it. */
const MOST_FILES = 12

/** Processes that run one compiled test file after another, so that most files find their modules loaded. */
export class Hosts {
  /** By their environment, which has the lane: files that run at the same time have different ones. */
  #hosts = new Map()

  /** Runs a file, in a process that has run fewer than `mostFiles`; the result is that of `runTestFile`. */
  async run({ file, results, env, mostFiles = MOST_FILES, endTimeoutMs }) {
    if (isInterrupted()) return NOTHING
    const key = JSON.stringify(env)
    const known = this.#hosts.get(key)
    const mayGoOn = known?.mayRun(mostFiles) ?? false
    if (!mayGoOn) await known?.end()
    const host = mayGoOn ? known : new Host(env)
    this.#hosts.set(key, host)
    return host.run({ file, results, endTimeoutMs })
  }

  /** Resolves when all processes have ended. */
  async close() {
    await Promise.all([...this.#hosts.values()].map((host) => host.end()))
    this.#hosts.clear()
  }
}

class Host {
  #child
  #closed
  #files = 0
  #usedMs = 0
  /** The file that runs: the output of its process, and the streams that go on. */
  #current = { output: new Output(), open: new Set(), ended: () => {} }

  constructor(env) {
    this.#child = startTests([join(ROOT, 'tools/test/host.mjs'), '--no-color'], {
      stdio: ['inherit', 'pipe', 'pipe', 'ipc'],
      env,
    })
    this.#closed = new Promise((done) => this.#child.once('close', (code) => done(code ?? 1)))
    for (const stream of this.#streams) stream.setEncoding('utf8').on('data', (text) => this.#take(stream, text))
  }

  mayRun(mostFiles) {
    return this.#child.connected && this.#files < mostFiles
  }

  async run({ file, results, endTimeoutMs }) {
    rmSync(results, { force: true })
    const output = new Output()
    const ended = new Promise((done) => {
      this.#current = { output, open: new Set(this.#streams), ended: () => done(0) }
    })
    const stopWatch = endWhenDone(this.#child, { results, endTimeoutMs, say: output.add })
    this.#files++
    // A process that has ended meanwhile fails the file.
    this.#child.send({ file, results }, () => {})
    const code = await Promise.race([this.#closed, ended])
    stopWatch()
    return outcomeOf({ code, output: output.text, results, processorMs: this.#takeProcessorMs() })
  }

  /** The process closes the channel itself: after a `disconnect` here there would be no event "close". */
  end() {
    if (this.#child.connected) this.#child.send('end', () => {})
    return this.#closed
  }

  get #streams() {
    return [this.#child.stdout, this.#child.stderr]
  }

  #take(stream, text) {
    const { output, open, ended } = this.#current
    const isEnd = text.endsWith(END)
    output.add(isEnd ? text.slice(0, -END.length) : text)
    if (isEnd) open.delete(stream)
    if (open.size === 0) ended()
  }

  /** Used since the last call; 0 after the end of the process. */
  #takeProcessorMs() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return 0
    const used = processorMs(readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8'))
    const since = used - this.#usedMs
    this.#usedMs = used
    return since
  }
}
