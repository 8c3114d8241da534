import { stat } from 'node:fs/promises'
import { markHandled } from '@session-service/server-kit'
import { z } from 'zod'
import { NativeProgram } from '../../native-program/native-program.js'
import { observe, stateOf, type Activity, type StallLimits } from '../supervision/stall.js'

/** The events of `apps/media-node/compositor` while it composes a log. */
const ComposerEvent = z.discriminatedUnion('event', [
  /** The first frame of a kind was decoded, or the next one after `await`. */
  z.object({ event: z.literal('media'), id: z.coerce.number(), kind: z.enum(['audio', 'video']) }),
  /** It does not decode these pictures. */
  z.object({ event: z.literal('refused'), id: z.coerce.number() }),
  /** The frames before this time are composed; `isEnd`: the log has no more. */
  z.object({ event: z.literal('reached'), atMs: z.number(), isEnd: z.boolean() }),
  z.object({ event: z.literal('stopped') }),
  z.object({ event: z.literal('error'), id: z.string().optional(), message: z.string() }),
])
type ComposerEvent = z.infer<typeof ComposerEvent>
type Reached = Extract<ComposerEvent, { event: 'reached' }>

/** The program runs only while the processors are idle: it may have to wait for long, and is not stalled then. */
const LIMITS: StallLimits = { outputMs: 1_800_000, firstOutputMs: 1_800_000, maxSampleMs: 30_000 }
const SAMPLE_MS = 10_000

interface ComposerHooks {
  /** A picture of the source was decoded that has to be shown, or none of it can be. */
  onPicture: (source: number, isRefused: boolean) => void
  onError: (message: string) => void
}

/** The native program that composes a log of packets, at idle priority and as fast as it can. */
export class Composer extends NativeProgram<ComposerEvent> {
  #reached: PromiseWithResolvers<Reached> | undefined
  #stopped = Promise.withResolvers<void>()
  #lastError: string | undefined
  #activity: Activity | undefined
  readonly #watch: NodeJS.Timeout

  constructor(
    command: string,
    opening: readonly (string | number)[],
    private readonly file: string,
    hooks: ComposerHooks,
  ) {
    super(command, ComposerEvent, (event) => this.#handle(event, hooks), ['--idle'])
    this.command('compose', ...opening)
    markHandled(this.#stopped.promise)
    this.#watch = setInterval(() => void this.#sample(), SAMPLE_MS)
    void this.exited.then((failure) => this.#exited(failure))
  }

  /** Each argument may be several words, with tabs between them. */
  send(...words: readonly (string | number)[]): void {
    this.command(...words.join('\t').split('\t'))
  }

  /** Composes the frames before this time, ms, or to the end of the log. Resolves with the time of the next frame. */
  async until(ms: number): Promise<Pick<Reached, 'atMs' | 'isEnd'>> {
    for (;;) {
      this.#reached = Promise.withResolvers<Reached>()
      this.command('until', Math.ceil(ms))
      const reached = await this.#reached.promise
      if (reached.isEnd || reached.atMs >= ms) return reached
    }
  }

  /** Resolves when the file is complete. */
  async finish(): Promise<void> {
    this.command('stop')
    await this.#stopped.promise
    await this.stop()
  }

  #handle(event: ComposerEvent, { onPicture, onError }: ComposerHooks): void {
    if (event.event === 'media' && event.kind === 'video') onPicture(event.id, false)
    if (event.event === 'refused') onPicture(event.id, true)
    if (event.event === 'reached') this.#reached?.resolve(event)
    if (event.event === 'stopped') this.#stopped.resolve()
    if (event.event !== 'error') return
    if (event.id === undefined) this.#lastError = event.message
    onError(event.message)
  }

  #exited(failure: string | undefined): void {
    clearInterval(this.#watch)
    const error = new Error(this.#lastError ?? failure ?? 'the compositor was stopped')
    this.#stopped.reject(error)
    this.#reached?.reject(error)
  }

  async #sample(): Promise<void> {
    const output = await stat(this.file).then(
      ({ size }) => size,
      () => 0,
    )
    this.#activity = observe(this.#activity, { at: performance.now(), output }, LIMITS)
    if (stateOf(this.#activity, LIMITS) === 'stalled') this.kill('composed nothing for half an hour')
  }
}
