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
export function createReport({
  stream = process.stderr,
  now = () => performance.now(),
  tty = stream.isTTY === true,
} = {}) {
  const started = now()
  const quiet = []
  let worked = false
  let live = ''
  const paint = (code, text) => (tty ? `\x1b[${code}m${text}\x1b[0m` : text)
  const width = () => Math.max(20, (stream.columns || 100) - 1)
  const clear = () => {
    if (live) stream.write('\r\x1b[K')
    live = ''
  }
  const line = (text) => {
    clear()
    stream.write(`${text}\n`)
  }
  const wake = () => {
    if (worked) return
    worked = true
    for (const text of quiet) line(text)
  }

  function watch(name) {
    const begin = now()
    let text = 'working'
    let printed = -Infinity
    const tick = () => {
      const age = now() - begin
      if (age < FIRST_WORD_AFTER_MS) return
      wake()
      if (tty) {
        live = `… ${name}: ${text} (${duration(age)})`.slice(0, width())
        stream.write(`\r\x1b[K${paint(2, live)}`)
      } else if (age - printed >= REPEAT_MS) {
        stream.write(`… ${name}: ${text}${printed >= 0 ? ` (${duration(age)})` : ''}\n`)
        printed = age
      }
    }
    const timer = setInterval(tick, tty ? 250 : 500)
    return {
      say: (next) => void (text = next),
      end: () => {
        clearInterval(timer)
        return now() - begin
      },
    }
  }

  return {
    /** Runs `work(say)`; it returns `{ ready: true }` when there was nothing to do, `{ note }` for words in brackets. */
    async step(name, work) {
      const watcher = watch(name)
      let outcome
      try {
        outcome = (await work(watcher.say)) ?? {}
      } catch (error) {
        watcher.end()
        clear()
        error.step ??= name
        throw error
      }
      const took = watcher.end()
      const note = [outcome.note, took >= 1000 ? duration(took) : undefined].filter(Boolean).join(', ')
      const text = `${paint(32, '✓')} ${outcome.name ?? name}${note ? paint(2, ` (${note})`) : ''}`
      if (outcome.ready && !worked) quiet.push(text)
      else {
        wake()
        line(text)
      }
      return outcome.value
    },
    /** A line that is not the end of a step. */
    note(text) {
      wake()
      line(paint(2, `  ${text}`))
    },
    /** A warning; printed also when all steps were ready. */
    warn(text) {
      line(`${paint(33, '!')} ${text}`)
    },
    fail(error) {
      const sentence = `${error.step ? `${error.step}: ` : ''}${error.message}`
      line(`${paint(31, '✗')} ${sentence}${error.log ? ` The details are in ${error.log}` : ''}`)
    },
    done(summary) {
      if (!worked) line(`${paint(32, '✓')} ${summary}${paint(2, ` (${duration(now() - started)})`)}`)
      else line(paint(2, `  ready after ${duration(now() - started)}`))
    },
  }
}
