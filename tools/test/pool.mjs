import { availableParallelism, cpus, getPriority } from 'node:os'

/** More jobs than this per core only take each other's memory and time. */
const MOST_PER_CORE = 2.5
/** Beyond one job per core another starts only while the processors are used less than this. */
const BUSY = 0.8
/** Beside a quiet job a second one starts only while the processors are used less than this. */
const CALM = 0.55
const MOST_BESIDE_QUIET = 3
/** A job that has just started has not shown its load yet. */
const SETTLE_MS = 1_500
const TICK_MS = 250
/** The load is the mean of this many ticks. */
const WINDOW = 8

export const mostLanes = (cores = availableParallelism()) => Math.max(2, Math.floor(cores * MOST_PER_CORE))

/**
 * The first waiting job that may start now, undefined when none may. A `quiet` job measures times: it has one other job
 * beside it, or a few while the processors have room, `light` ones when there are any; no other job starts before it
 * without a quiet one. Beside a light quiet job the first one is another light quiet job. At most one `heavy` job per
 * core runs. `busy` is the share of the processors in use, `settled` whether it shows the jobs that run.
 */
export function nextJob(waiting, running, { busy, settled, cores }) {
  const next = waiting.find(({ quiet }) => quiet)
  const quietOnes = running.filter(({ quiet }) => quiet)
  if (quietOnes.length > 0 || next) {
    const hasRoom = running.length <= 1 || (running.length <= MOST_BESIDE_QUIET && settled && busy < CALM)
    if (!hasRoom) return undefined
    return quietOnes.length > 0 ? nextBesideQuiet(waiting, quietOnes) : next
  }
  if (running.length >= mostLanes(cores)) return undefined
  if (running.length >= Math.max(2, cores) && !(settled && busy < BUSY)) return undefined
  // A third one on two cores would delay all others by seconds.
  const mayBeHeavy = running.filter(({ heavy }) => heavy).length < Math.max(2, cores)
  return mayBeHeavy ? waiting[0] : waiting.find(({ heavy }) => !heavy)
}

/** The job that starts beside quiet ones, undefined when none may. */
function nextBesideQuiet(waiting, quietOnes) {
  const mayBeQuiet = quietOnes.length === 1 && quietOnes[0].light
  const second = mayBeQuiet ? waiting.find(({ quiet, light }) => quiet && light) : undefined
  const others = waiting.filter(({ quiet }) => !quiet)
  return second ?? others.find(({ light }) => light) ?? others[0]
}

/** Quiet jobs first, while little runs beside them; then those that take longest, so that all lanes end together. */
export const inOrder = (jobs) =>
  jobs.toSorted((a, b) => Number(b.quiet ?? false) - Number(a.quiet ?? false) || b.expectedMs - a.expectedMs)

/**
 * Runs all jobs, as many side by side as the processors bear: `{ run(lane), expectedMs, quiet?, heavy?, light? }`. `lane` is
 * `<number>/<lanes>`; jobs that run at the same time have different ones. Resolves to the use of the processors, for
 * `useLine`. Rejects with the first error of a job.
 */
export async function runPool(jobs, cores = availableParallelism()) {
  const waiting = inOrder(jobs)
  const running = []
  const failures = []
  const meter = new LoadMeter()
  const use = new Use()
  const changes = new Changes()
  const timer = setInterval(() => {
    meter.tick()
    use.add(running.some(({ quiet }) => quiet))
    changes.notify()
  }, TICK_MS)
  const start = async (job) => {
    const slot = { quiet: job.quiet, heavy: job.heavy, light: job.light, lane: freeLane(running) }
    running.push(slot)
    meter.restart()
    try {
      await job.run(`${slot.lane}/${mostLanes(cores)}`)
    } catch (error) {
      failures.push(error)
      waiting.length = 0
    }
    running.splice(running.indexOf(slot), 1)
    changes.notify()
  }
  while (running.length + waiting.length > 0) {
    const job = nextJob(waiting, running, { ...meter.read(), cores })
    if (job) {
      waiting.splice(waiting.indexOf(job), 1)
      void start(job)
    } else await changes.next()
  }
  clearInterval(timer)
  if (failures.length > 0) throw failures[0]
  return use.sums
}

/**
 * How busy the processors were beside quiet jobs and without them: what is left shows where more jobs could run. The sum is
 * that of the whole machine, thus includes programs whose processes were killed, such as browsers.
 */
export function useLine({ besideQuiet, others }) {
  const part = ({ busy, total, ms }, where) =>
    `${total > 0 ? Math.round((100 * busy) / total) : 0} % in ${(ms / 60_000).toFixed(1)} min ${where} quiet files`
  const seconds = Math.round((besideQuiet.busy + others.busy) / 1_000)
  return `processors used: ${seconds} s; ${part(besideQuiet, 'beside')}, ${part(others, 'without')}`
}

class Use {
  sums = { besideQuiet: { busy: 0, total: 0, ms: 0 }, others: { busy: 0, total: 0, ms: 0 } }
  #last = { ...processorTimes(), at: performance.now() }

  /** The time since the last call. */
  add(hasQuiet) {
    const [last, now] = [this.#last, { ...processorTimes(), at: performance.now() }]
    const sum = hasQuiet ? this.sums.besideQuiet : this.sums.others
    sum.total += now.total - last.total
    sum.busy += now.total - last.total - (now.idle - last.idle)
    sum.ms += now.at - last.at
    this.#last = now
  }
}

function freeLane(running) {
  const taken = new Set(running.map(({ lane }) => lane))
  let lane = 1
  while (taken.has(lane)) lane++
  return lane
}

/** A waiter that wakes once per notification, and at once when one came meanwhile. */
class Changes {
  #pending = false
  #wake = () => {}

  notify() {
    this.#pending = true
    this.#wake()
  }

  async next() {
    if (!this.#pending) await new Promise((resolve) => (this.#wake = resolve))
    this.#pending = false
  }
}

class LoadMeter {
  #samples = [processorTimes()]
  #restartedAt = performance.now()

  tick() {
    this.#samples.push(processorTimes())
    if (this.#samples.length > WINDOW) this.#samples.shift()
  }

  restart() {
    this.#restartedAt = performance.now()
  }

  read() {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    const total = last.total - first.total
    const busy = total > 0 ? 1 - (last.idle - first.idle) / total : 1
    return { busy, settled: performance.now() - this.#restartedAt > SETTLE_MS }
  }
}

/**
 * The times of all processors since the system started, ms. Work of a lower priority gives way, so its time counts as
 * idle.
 */
export function processorTimes(processors = cpus(), ownPriority = getPriority()) {
  let [idle, total] = [0, 0]
  for (const { times } of processors) {
    idle += times.idle + (ownPriority > 0 ? 0 : times.nice)
    total += times.user + times.nice + times.sys + times.irq + times.idle
  }
  return { idle, total }
}
