import { Logger } from '@nestjs/common'
import { metrics } from '@session-service/server-kit'
import { type Activity, type Sample, observe, STALL_LIMITS, stateOf, type StallLimits } from './stall.js'

const SAMPLE_MS = 1_000
/** A sample later than this means that this process was suspended, ms. */
const SUSPENDED_MS = 5_000

const stalls = metrics.counter('job_stalls_total', {
  help: 'Stalled programs of recording jobs: killed because they wrote nothing while media arrived',
  labels: { program: ['compositor', 'packet_recorder', 'stream_recorder', 'screen_recorder', 'browser'] },
})

const supervisors = new Set<Supervisor>()

metrics.sampled(
  'recording_fragment_age_seconds',
  'Longest time for which output of a running recording program has been due and missing',
  () => Math.max(0, ...[...supervisors].map(({ silentMs }) => silentMs)) / 1_000,
)

interface Supervised {
  program: 'compositor' | 'packet_recorder' | 'stream_recorder' | 'screen_recorder' | 'browser'
  /** `silentMs`: how long due output has been missing. Undefined: no output is due yet. */
  sample: (silentMs: number) => Promise<Omit<Sample, 'at'> | undefined>
  /** Called once with the reason. The program has to be killed: a stopped process handles no other signal. */
  onStalled: (why: string) => void
}

/** Samples the progress of a job's program each second and reports a stall. */
export class Supervisor {
  readonly #logger = new Logger('Jobs')
  readonly #timer: NodeJS.Timeout
  #activity: Activity | undefined
  #sampledAt = performance.now()
  #tickAt = performance.now()
  #isSampling = false
  #ended = false

  constructor(
    private readonly supervised: Supervised,
    private readonly limits: StallLimits = STALL_LIMITS,
    everyMs = SAMPLE_MS,
  ) {
    this.#timer = setInterval(() => this.#tick(everyMs), everyMs)
    supervisors.add(this)
  }

  /** How long due output has been missing. A disk that hangs delays samples and the end of a killed program as well. */
  get silentMs(): number {
    const unknownMs = performance.now() - this.#sampledAt
    return (this.#activity?.silentMs ?? 0) + (unknownMs > this.limits.maxSampleMs ? unknownMs : 0)
  }

  /** The program has ended, or no output is due any more. */
  stop(): void {
    this.#stopSampling()
    supervisors.delete(this)
  }

  #stopSampling(): void {
    this.#ended = true
    clearInterval(this.#timer)
  }

  /**
   * The rooms of a suspended node have moved to other nodes, and a program that was suspended with it would fill the gap
   * with silence: the file ends here.
   */
  #tick(everyMs: number): void {
    const elapsedMs = performance.now() - this.#tickAt
    this.#tickAt += elapsedMs
    if (elapsedMs < everyMs + SUSPENDED_MS) return void this.#sample()
    this.stop()
    this.#logger.warn(
      { program: this.supervised.program, elapsedMs: Math.round(elapsedMs) },
      'the media node was suspended',
    )
    this.supervised.onStalled('was stopped because the media node was suspended')
  }

  /** Ignores a failed sample: its cause has its own event. */
  async #sample(): Promise<void> {
    if (this.#isSampling) return
    this.#isSampling = true
    const sample = await this.supervised.sample(this.#activity?.silentMs ?? 0).catch(() => undefined)
    this.#isSampling = false
    this.#sampledAt = performance.now()
    if (!sample || this.#ended) return
    this.#activity = observe(this.#activity, { at: performance.now(), ...sample }, this.limits)
    if (stateOf(this.#activity, this.limits) === 'ok') return
    this.#report(this.#activity)
  }

  #report({ silentMs }: Activity): void {
    this.#stopSampling()
    const { program, onStalled } = this.supervised
    stalls.inc({ program })
    const why = `wrote nothing for ${Math.round(silentMs / 1_000)} s`
    this.#logger.warn(
      { program, silentMs: Math.round(silentMs) },
      'a program of a recording job is stalled: killing it',
    )
    onStalled(why)
  }
}
