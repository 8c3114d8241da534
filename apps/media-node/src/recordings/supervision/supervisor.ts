import { Logger } from '@nestjs/common'
import { metrics } from '@session-service/server-kit'
import { type Activity, type Look, observe, STALL_LIMITS, stateOf, type StallLimits } from './stall.js'

const LOOK_MS = 1_000
/** A look that is so late means that this process was suspended, ms. */
const SUSPENDED_MS = 5_000

const stalls = metrics.counter('job_stalls_total', {
  help: 'Programs of jobs that were killed because they wrote nothing while media arrived',
  labels: { program: ['compositor', 'stream_recorder', 'screen_recorder', 'browser'] },
})

export interface Supervised {
  program: 'compositor' | 'stream_recorder' | 'screen_recorder' | 'browser'
  /** `silentMs`: how long output has been due. Undefined: the program owes nothing yet. */
  look: (silentMs: number) => Promise<Omit<Look, 'at'> | undefined>
  /** Called once; what it gets says why. The program has to be killed: a suspended one hears no other signal. */
  onStalled: (why: string) => void
}

/** Looks at a program of a job each second and reports one that hangs. */
export class Supervisor {
  readonly #logger = new Logger('Jobs')
  readonly #timer: NodeJS.Timeout
  #activity: Activity | undefined
  #tickAt = performance.now()
  #looking = false
  #ended = false

  constructor(
    private readonly supervised: Supervised,
    private readonly limits: StallLimits = STALL_LIMITS,
    everyMs = LOOK_MS,
  ) {
    this.#timer = setInterval(() => this.#tick(everyMs), everyMs)
  }

  stop(): void {
    this.#ended = true
    clearInterval(this.#timer)
  }

  /**
   * A suspended node has lost its sessions to others, and a program that was suspended with it would fill the time with
   * silence: its file ends where it is.
   */
  #tick(everyMs: number): void {
    const elapsedMs = performance.now() - this.#tickAt
    this.#tickAt += elapsedMs
    if (elapsedMs < everyMs + SUSPENDED_MS) return void this.#look()
    this.stop()
    this.#logger.warn(
      { program: this.supervised.program, elapsedMs: Math.round(elapsedMs) },
      'the media node was suspended',
    )
    this.supervised.onStalled('was ended since the media node was suspended')
  }

  /** A look that fails is no look: whatever made it fail has its own event. */
  async #look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    const look = await this.supervised.look(this.#activity?.silentMs ?? 0).catch(() => undefined)
    this.#looking = false
    if (!look || this.#ended) return
    this.#activity = observe(this.#activity, { at: performance.now(), ...look }, this.limits)
    if (stateOf(this.#activity, this.limits) === 'ok') return
    this.#report(this.#activity)
  }

  #report({ silentMs }: Activity): void {
    this.stop()
    const { program, onStalled } = this.supervised
    stalls.inc({ program })
    const why = `wrote nothing for ${Math.round(silentMs / 1_000)} s`
    this.#logger.error({ program, silentMs: Math.round(silentMs) }, 'a program of a job is stalled and is killed')
    onStalled(why)
  }
}
