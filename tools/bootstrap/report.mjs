const FIRST_WORD_AFTER_MS = 1500
const REPEAT_MS = 30_000

/** 850 → "0.9 s", 75_000 → "1 min 15 s". */
export function duration(ms) {
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const s = Math.round(ms / 1000)
  return `${Math.floor(s / 60)} min ${s % 60} s`
}

/**
 * One line per step on `stream`. Steps that found everything in place are held back and
 * only shown when another one had work to do: a machine that is ready sees a single line.
 */
export class Report {
  #stream
  #now
  #tty
  #started
  #quiet = []
  #worked = false
  /** The text of the line that the next output replaces. */
  #live = ''

  constructor({ stream = process.stderr, now = () => performance.now(), tty = stream.isTTY === true } = {}) {
    this.#stream = stream
    this.#now = now
    this.#tty = tty
    this.#started = now()
  }

  /** Runs `work(say)`; it returns `{ ready: true }` when there was nothing to do, `{ note }` for words in brackets. */
  async step(name, work) {
    const watcher = this.#watch(name)
    let outcome
    try {
      outcome = (await work(watcher.say)) ?? {}
    } catch (error) {
      watcher.end()
      this.#clear()
      error.step ??= name
      throw error
    }
    const took = watcher.end()
    const note = [outcome.note, took >= 1000 ? duration(took) : undefined].filter(Boolean).join(', ')
    const text = `${this.#paint(32, '✓')} ${outcome.name ?? name}${note ? this.#paint(2, ` (${note})`) : ''}`
    if (outcome.ready && !this.#worked) this.#quiet.push(text)
    else {
      this.#wake()
      this.#line(text)
    }
    return outcome.value
  }

  /** A line that is not the end of a step. */
  note(text) {
    this.#wake()
    this.#line(this.#paint(2, `  ${text}`))
  }

  /** A warning; printed also when all steps were ready. */
  warn(text) {
    this.#line(`${this.#paint(33, '!')} ${text}`)
  }

  fail(error) {
    const sentence = `${error.step ? `${error.step}: ` : ''}${error.message}`
    this.#line(`${this.#paint(31, '✗')} ${sentence}${error.log ? ` The details are in ${error.log}` : ''}`)
  }

  done(summary) {
    const took = duration(this.#now() - this.#started)
    if (!this.#worked) this.#line(`${this.#paint(32, '✓')} ${summary}${this.#paint(2, ` (${took})`)}`)
    else this.#line(this.#paint(2, `  ready after ${took}`))
  }

  /** Shows how long a step runs, once that is long. */
  #watch(name) {
    const begin = this.#now()
    let text = 'working'
    let printed = -Infinity
    const tick = () => {
      const age = this.#now() - begin
      if (age < FIRST_WORD_AFTER_MS) return
      this.#wake()
      if (this.#tty) this.#show(`… ${name}: ${text} (${duration(age)})`)
      else if (age - printed >= REPEAT_MS) {
        this.#stream.write(`… ${name}: ${text}${printed >= 0 ? ` (${duration(age)})` : ''}\n`)
        printed = age
      }
    }
    const timer = setInterval(tick, this.#tty ? 250 : 500)
    return {
      say: (next) => void (text = next),
      end: () => {
        clearInterval(timer)
        return this.#now() - begin
      },
    }
  }

  #show(text) {
    this.#live = text.slice(0, Math.max(20, (this.#stream.columns || 100) - 1))
    this.#stream.write(`\r\x1b[K${this.#paint(2, this.#live)}`)
  }

  #clear() {
    if (this.#live) this.#stream.write('\r\x1b[K')
    this.#live = ''
  }

  #line(text) {
    this.#clear()
    this.#stream.write(`${text}\n`)
  }

  #wake() {
    if (this.#worked) return
    this.#worked = true
    for (const text of this.#quiet) this.#line(text)
  }

  #paint(code, text) {
    return this.#tty ? `\x1b[${code}m${text}\x1b[0m` : text
  }
}
