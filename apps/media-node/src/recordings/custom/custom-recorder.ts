import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError, type RecordedFile, type RecordingJob } from '@session-service/contract'
import { messageOf } from '@session-service/server-kit'
import { closedRoom } from '../recorder/closed-room.js'
import { cutEnd } from '../recorder/cut-end.js'
import type { Recorder, RecorderContext, RecorderFactory } from '../recorder/recorder.js'
import { Grabber } from './grabber.js'
import { PageBrowser } from './page-browser.js'
import { findPrograms, type Programs } from './programs.js'
import { Screen } from './screen.js'
import { removeScratchDir, createScratchDir, removeStaleScratchDirs } from './scratch-dir.js'

const FILE = 'composed.mp4'

type PageOutput = Extract<RecordingJob['output'], { kind: 'CUSTOM' }>

/** Records the screen and the audio of a browser that shows the session in a layout page. */
export const createCustomRecorder: RecorderFactory = (context) => {
  const { output } = context.job
  if (output.kind !== 'CUSTOM') throw new ServiceError('INVALID', `output: ${output.kind} is not a custom layout`)
  return new CustomRecorder(context, output, findPrograms())
}

class CustomRecorder implements Recorder {
  readonly #abort = new AbortController()
  /** Run in reverse order. */
  readonly #cleanups: (() => Promise<unknown>)[] = []
  #starting: Promise<number> | undefined
  #stopping: Promise<RecordedFile[]> | undefined
  #startedAt: number | undefined
  #endedAt: number | undefined
  /** Whether the program that writes the file was killed. */
  #isCut = false
  #isEndReported = false

  constructor(
    private readonly context: RecorderContext,
    private readonly output: PageOutput,
    private readonly programs: Programs,
  ) {}

  start(): Promise<number> {
    this.#starting = this.#start().catch((error: unknown) => {
      throw error instanceof ServiceError
        ? error
        : new ServiceError('LAUNCH_FAILED', messageOf(error), { cause: error })
    })
    return this.#starting
  }

  stop(): Promise<RecordedFile[]> {
    return (this.#stopping ??= this.#stop())
  }

  async #start(): Promise<number> {
    const { room, folder } = this.context
    if (room.closed) throw closedRoom(room)
    const ignored = (): void => undefined
    const unobserve = room.observe({
      published: ignored,
      unpublished: ignored,
      changed: ignored,
      closed: () => this.#end(),
    })
    this.#cleanups.push(async () => unobserve())
    const screen = await this.#openScreen()
    await this.#openPage(screen)
    return this.#grab(screen, join(folder, FILE))
  }

  async #openScreen(): Promise<Screen> {
    void removeStaleScratchDirs()
    const folder = await createScratchDir()
    this.#cleanups.push(() => removeScratchDir(folder))
    const { programs, output } = this
    const { hasAudio } = this.context.job
    const size = { width: output.width, height: output.height }
    const screen = await Screen.open({ programs, folder, hasAudio, ...size, signal: this.#abort.signal })
    this.#cleanups.push(() => screen.close())
    void screen.failed.then((failure) => this.#end(failure))
    return screen
  }

  async #openPage(screen: Screen): Promise<void> {
    const { width, height, page } = this.output
    const browser = await PageBrowser.open({
      program: this.programs.chromium,
      folder: screen.folder,
      env: screen.env,
      hasAudio: this.context.job.hasAudio,
      width,
      height,
      page: { ...page, shmSize: this.output.shmSize },
      signal: this.#abort.signal,
    })
    this.#cleanups.push(() => browser.close())
    void browser.failed.then((failure) => this.#end(failure))
  }

  async #grab(screen: Screen, file: string): Promise<number> {
    const { width, height, frameRate } = this.output
    const { hasAudio } = this.context.job
    const { display, env } = screen
    const begunAt = this.context.clock.now()
    const program = this.programs.ffmpeg
    const grabber = new Grabber({ program, display, env, screen: { width, height }, frameRate, hasAudio, file })
    this.#cleanups.push(async () => void (this.#isCut = await grabber.stop()))
    await grabber.writing(this.#abort.signal)
    this.#startedAt = begunAt
    void grabber.failed.then((failure) => this.#end(failure))
    this.context.onFiles?.([this.#described(0, begunAt)])
    return begunAt
  }

  async #stop(): Promise<RecordedFile[]> {
    this.#isEndReported = true
    this.#endedAt ??= this.context.clock.now()
    this.#abort.abort(new ServiceError('LAUNCH_FAILED', 'the recording was stopped before it began'))
    await this.#starting?.catch(() => undefined)
    for (const cleanup of this.#cleanups.toReversed()) await cleanup()
    const found = await stat(join(this.context.folder, FILE)).catch(() => undefined)
    if (!found?.size || this.#startedAt === undefined) return []
    const times = { startedAt: this.#startedAt, endedAt: this.#endedAt }
    return [this.#described(found.size, this.#isCut ? cutEnd(times, found.mtimeMs, this.context.clock) : times.endedAt)]
  }

  #described(size: number, endedAt: number): RecordedFile {
    const { hasAudio, hasVideo } = this.context.job
    return { name: FILE, size, hasAudio, hasVideo, startedAt: this.#startedAt ?? endedAt, endedAt }
  }

  #end(failure?: string): void {
    this.#endedAt ??= this.context.clock.now()
    if (this.#isEndReported) return
    this.#isEndReported = true
    this.context.onEnded(failure)
  }
}
