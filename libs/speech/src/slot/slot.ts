import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { markHandled, withTimeout } from '@session-service/server-kit/async'
import { hasParentDeathSignal, INHERITED_VARIABLES, withParentDeathSignal } from '@session-service/server-kit/processes'
import type { AudioAddress } from '../engines/audio-source.js'
import type { SpeechResult } from '../engines/engine.js'
import { LastLines } from './last-lines.js'
import { fromMachineTime } from './machine-clock.js'
import { observeSilence, type Silence } from './silence.js'
import {
  type EngineOptions,
  slotEvent,
  type SlotCommand,
  type SlotEvent,
  type SlotUsage,
  type SourceOptions,
} from './slot-protocol.js'

const ENTRY = fileURLToPath(new URL('slot-process.js', import.meta.url))

export interface SlotLimits {
  /** A model that is not loaded by then is given up, ms. */
  loadMs: number
  /** The interval of heartbeats, ms. */
  heartbeatMs: number
  /** A process that sends no heartbeat for this long is killed, ms. */
  silenceMs: number
  /** As `silenceMs` while the model is being loaded: reading a large model may block the process. */
  loadSilenceMs: number
  /** The time in which a stream has to open, ms. */
  openMs: number
}

export const SLOT_LIMITS: SlotLimits = {
  loadMs: 60_000,
  heartbeatMs: 500,
  silenceMs: 2_000,
  loadSilenceMs: 15_000,
  openMs: 5_000,
}

/** A stream that is open in a slot. */
export interface SlotStream extends AudioAddress {
  /** The time of its position 0 on the clock of `performance.now()` of this process. */
  startedAt: number
}

/** `frozen`: it sent no heartbeat; `crashed`: it ended by itself or was killed by another process. */
export type SlotFailure = 'frozen' | 'crashed'

export interface SlotEvents {
  /** Times are seconds of the stream; partial results have a start. They belong to the utterance of the next final one. */
  result(stream: string, utterance: number, result: SpeechResult): void
  /** A stream has ended; with a reason when it failed. */
  closed(stream: string, reason?: string): void
  /** Called once when the process has ended after it had loaded the model; without a reason when it was stopped. */
  exit(reason?: string, failure?: SlotFailure): void
}

export interface SlotOptions {
  engine: EngineOptions
  /** The folder of the model. */
  folder: string
  language: string
  events: SlotEvents
  limits?: Partial<SlotLimits>
  /** Ends the load. */
  signal?: AbortSignal
}

/** A language model cannot be loaded, or its process has failed. */
export class SlotError extends Error {
  override readonly name = 'SlotError'
}

/** A language model that is loaded in a process of its own, which never outlives this one. */
export class Slot {
  /**
   * Resolves when the model is loaded. Without success no process is left.
   * @throws SlotError
   */
  static async start(options: SlotOptions): Promise<Slot> {
    options.signal?.throwIfAborted()
    const slot = new Slot(options)
    const abort = (): void => slot.#kill('was stopped while it was loading')
    options.signal?.addEventListener('abort', abort, { once: true })
    try {
      await slot.#load()
    } catch (error) {
      await slot.stop()
      throw slot.#withLastLines(error as Error)
    } finally {
      options.signal?.removeEventListener('abort', abort)
    }
    slot.#isServing = true
    return slot
  }

  readonly language: string
  /** Resolves when the process has ended. Never rejects. */
  readonly exited: Promise<void>
  readonly #options: SlotOptions
  readonly #limits: SlotLimits
  readonly #child: ChildProcess
  readonly #lastLines: LastLines
  readonly #loaded = Promise.withResolvers<void>()
  readonly #opening = new Map<string, PromiseWithResolvers<SlotStream>>()
  #watch: NodeJS.Timeout | undefined
  #silence: Silence = { at: performance.now(), silentMs: 0 }
  #isHeard = true
  #isServing = false
  #isRunning = true
  #isStopping = false
  #isFrozen = false
  /** Why this process killed the other. */
  #killReason: string | undefined
  #usage: SlotUsage = { memory: 0, cpu: 0, streams: 0, dropped: 0 }

  private constructor(options: SlotOptions) {
    this.#options = options
    this.language = options.language
    this.#limits = { ...SLOT_LIMITS, ...options.limits }
    this.#child = startProcess()
    this.#lastLines = new LastLines(this.#child.stderr)
    markHandled(this.#loaded.promise)
    this.exited = new Promise((resolve) => {
      const ended = (outcome: string) => resolve(this.#ended(outcome))
      this.#child.once('close', (code, signal) => ended(signal ? `was ended by ${signal}` : `ended with code ${code}`))
      this.#child.on('error', (error) => {
        this.#killReason ??= error.message
        // A process that did not start emits no `close`.
        if (this.#child.pid === undefined) ended(error.message)
      })
    })
    this.#child.on('message', (message) => {
      const event = slotEvent.safeParse(message)
      if (event.success) this.#receive(event.data)
      else this.#kill('sent an unknown message')
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get running(): boolean {
    return this.#isRunning && !this.#isStopping
  }

  /** By the last heartbeat. */
  get usage(): SlotUsage {
    return this.#usage
  }

  /**
   * Opens a stream with a recognizer of its own; resolves with the address to which its audio has to be sent.
   * @throws SlotError
   */
  async open(stream: string, source: SourceOptions): Promise<SlotStream> {
    if (!this.running) throw new SlotError(`the language model ${this.language} is not loaded`)
    if (this.#opening.has(stream)) throw new SlotError('the stream is being opened')
    const opening = Promise.withResolvers<SlotStream>()
    this.#opening.set(stream, opening)
    try {
      this.#send({ type: 'open', stream, source })
      return await withTimeout(opening.promise, this.#limits.openMs, () => {
        this.#send({ type: 'close', stream, finish: false })
        return new SlotError(`the stream did not open within ${this.#limits.openMs} ms`)
      })
    } finally {
      this.#opening.delete(stream)
    }
  }

  /** Ends a stream, which `closed` confirms. `finish`: the results of the audio so far come before. */
  close(stream: string, { finish = false } = {}): void {
    if (this.running) this.#send({ type: 'close', stream, finish })
  }

  /** Ends the process and with it all streams. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#child.kill('SIGKILL')
    await this.exited
  }

  async #load(): Promise<void> {
    const { engine, folder, language } = this.#options
    const { heartbeatMs, loadMs } = this.#limits
    this.#send({ type: 'load', engine, folder, language, heartbeatMs })
    await withTimeout(
      this.#loaded.promise,
      loadMs,
      (ms) => new SlotError(`loading the language model ${language} took longer than ${ms} ms`),
    )
  }

  /** The libraries of the engines write the reason of a failure and return nothing else. */
  #withLastLines(error: Error): Error {
    const last = this.#lastLines.text
    return last === '' || error.message.includes(last) ? error : new SlotError(`${error.message} (${last})`)
  }

  /** A process that has just ended takes no message; its end is reported elsewhere. */
  #send(command: SlotCommand): void {
    if (this.#child.connected) this.#child.send(command, () => undefined)
  }

  #receive(event: SlotEvent): void {
    this.#hear()
    const { events, language } = this.#options
    if (event.type === 'heartbeat') this.#usage = event.usage
    else if (event.type === 'loaded') this.#loaded.resolve()
    else if (event.type === 'load-failed')
      this.#loaded.reject(new SlotError(`the language model ${language} cannot be loaded: ${event.message}`))
    else if (event.type === 'opened')
      this.#opening.get(event.stream)?.resolve({ ...event.address, startedAt: fromMachineTime(event.startedAt) })
    else if (event.type === 'open-failed') this.#opening.get(event.stream)?.reject(new SlotError(event.message))
    else if (this.#isStopping) return
    else if (event.type === 'result') events.result(event.stream, event.utterance, event.result)
    else events.closed(event.stream, event.message)
  }

  /** The start of a process takes long on a busy machine: silence counts from its first message on. */
  #hear(): void {
    this.#isHeard = true
    this.#watch ??= setInterval(() => this.#sampleSilence(), this.#limits.heartbeatMs / 2)
  }

  #sampleSilence(): void {
    this.#silence = observeSilence(this.#silence, performance.now(), this.#isHeard)
    this.#isHeard = false
    const limitMs = this.#isServing ? this.#limits.silenceMs : this.#limits.loadSilenceMs
    if (this.#silence.silentMs < limitMs) return
    this.#isFrozen = true
    this.#kill(`sent no heartbeat for ${limitMs} ms`)
  }

  #kill(reason: string): void {
    this.#killReason ??= reason
    this.#child.kill('SIGKILL')
  }

  #ended(outcome: string): void {
    clearInterval(this.#watch)
    this.#isRunning = false
    const last = this.#lastLines.text
    const reason = `the process of the language model ${this.language} ${this.#killReason ?? outcome}${last && `: ${last}`}`
    const error = new SlotError(reason)
    this.#loaded.reject(error)
    for (const opening of this.#opening.values()) opening.reject(error)
    if (!this.#isServing) return
    if (this.#isStopping) this.#options.events.exit()
    else this.#options.events.exit(reason, this.#isFrozen ? 'frozen' : 'crashed')
  }
}

/** Gives the memory of closed streams back, and keeps threads from collecting free memory of their own. */
const MEMORY = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' }

const inheritedEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED_VARIABLES.test(name)))

/** The kernel kills it when this process dies; Ctrl-C in a terminal must not reach it before this process ends it. */
function startProcess(): ChildProcess {
  const [execPath, ...execArgv] = withParentDeathSignal(process.execPath, [])
  return fork(ENTRY, [], {
    execPath,
    execArgv,
    serialization: 'advanced',
    detached: hasParentDeathSignal,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...inheritedEnvironment(), ...MEMORY },
  })
}
