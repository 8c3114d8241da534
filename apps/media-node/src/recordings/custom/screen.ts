import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Size } from '../composed/layout.js'
import { ChildProgram, type KillStep } from '@session-service/server-kit'
import type { Programs } from './programs.js'
import { waitFor, type Probe } from './wait.js'
import { xAuthority } from './x-authority.js'

const START_TIMEOUT_MS = 10_000
const STOP_STEPS: readonly KillStep[] = [
  { afterMs: 0, signal: 'SIGTERM' },
  { afterMs: 2_000, signal: 'SIGKILL' },
]
export const SINK = 'recorded'

interface ScreenOptions extends Size {
  programs: Programs
  /** Private, with a short path. */
  folder: string
  hasAudio: boolean
  signal: AbortSignal
}

/** A virtual screen (Xvfb) and a virtual audio output (PulseAudio). */
export class Screen {
  readonly #running: ChildProgram[] = []
  #display: number | undefined
  #closed = false

  private constructor(private readonly options: ScreenOptions) {}

  static async open(options: ScreenOptions): Promise<Screen> {
    const screen = new Screen(options)
    try {
      await Promise.all([screen.#openDisplay(), options.hasAudio && screen.#openSound()])
      return screen
    } catch (error) {
      await screen.close()
      throw error
    }
  }

  /** The environment of programs that use this screen and audio output. */
  get env(): Readonly<Record<string, string>> {
    const { folder, hasAudio } = this.options
    return {
      ...homeIn(folder),
      DISPLAY: this.display,
      XAUTHORITY: keyIn(folder),
      ...(hasAudio && { PULSE_SERVER: `unix:${socketIn(folder)}` }),
    }
  }

  /** The folder of all programs on this screen. */
  get folder(): string {
    return this.options.folder
  }

  get display(): string {
    return `:${this.#display}`
  }

  /** Resolves with the reason when one of its servers has exited. */
  get failed(): Promise<string | undefined> {
    return Promise.race(this.#running.map(({ exited }) => exited.then(({ failure }) => failure)))
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#running.map((program) => program.stop(STOP_STEPS)))
  }

  async #openDisplay(): Promise<void> {
    const { programs, folder, width, height } = this.options
    const key = keyIn(folder)
    await writeFile(key, xAuthority(), { mode: 0o600 })
    // One line and column more: Chromium leaves the last line of a screen free unless it is in full screen.
    const screen = ['-screen', '0', `${width + 1}x${height + 1}x24`, '-noreset', '-s', '0']
    // Xvfb selects a free display number and prints it.
    const args = ['-displayfd', '1', ...screen, '-nolisten', 'tcp', '-auth', key]
    const onLine = (line: string): void => void (/^\d+$/.test(line) && (this.#display ??= Number(line)))
    const program = this.#run({ command: programs.xvfb, args, onLine })
    await this.#untilReady('the screen', program, () => this.#display)
  }

  async #openSound(): Promise<void> {
    const { programs, folder } = this.options
    const quiet = ['-n', '--daemonize=no', '--use-pid-file=no', '--exit-idle-time=-1', '--log-level=error']
    const modules = [
      `module-null-sink sink_name=${SINK} rate=48000 channels=2`,
      `module-native-protocol-unix auth-anonymous=1 socket=${socketIn(folder)}`,
    ]
    const args = [...quiet, '--high-priority=no', '--realtime=no', ...modules.flatMap((module) => ['-L', module])]
    const program = this.#run({ command: programs.pulseaudio, args })
    const hasSocket = (): Promise<true | undefined> =>
      stat(socketIn(folder)).then(
        (found) => found.isSocket() || undefined,
        () => undefined,
      )
    await this.#untilReady('the audio server', program, hasSocket)
  }

  #run(options: ConstructorParameters<typeof ChildProgram>[0]): ChildProgram {
    // A program started after `close` would never be stopped.
    this.options.signal.throwIfAborted()
    if (this.#closed) throw new Error('the screen is closed')
    const program = new ChildProgram({ ...options, env: homeIn(this.options.folder) })
    this.#running.push(program)
    return program
  }

  async #untilReady<T extends number | true>(what: string, program: ChildProgram, probe: Probe<T>): Promise<void> {
    const { signal } = this.options
    const ended = program.exited.then(({ failure }) => Promise.reject(new Error(`${what}: ${failure ?? 'ended'}`)))
    await Promise.race([ended, waitFor(what, probe, { ms: START_TIMEOUT_MS, signal })])
  }
}

const keyIn = (folder: string): string => join(folder, 'xauthority')
const socketIn = (folder: string): string => join(folder, 'sound')
const homeIn = (folder: string): Record<string, string> => ({
  HOME: folder,
  TMPDIR: join(folder, 'tmp'),
  XDG_RUNTIME_DIR: folder,
  XDG_CONFIG_HOME: folder,
  XDG_CACHE_HOME: folder,
})
