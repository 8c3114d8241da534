import { rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Logger } from '@nestjs/common'
import type { RecordedFile, RecordingJob } from '@session-service/contract'
import { requireCompositor } from '../../native-program/programs.js'
import { Scene } from '../composed/scene.js'
import { openCommand, settingsOf } from '../composed/settings.js'
import { PACKETS_FILE } from '../recorder/deferred.js'
import { Composer } from './composer.js'
import { ReplayedStreams } from './replayed-streams.js'
import { readTimeline, type Timeline } from './timeline.js'

const logger = new Logger('Recording')

interface ComposeOptions {
  job: RecordingJob
  /** The folder of the job, which receives the file. */
  folder: string
  /** Aborts the composition; it can be repeated. */
  signal: AbortSignal
}

/**
 * Composes what a deferred recorder has recorded; it can be repeated. The file gets its name when it is complete. No file:
 * nothing was recorded. @throws when the composition fails
 */
export async function compose({ job, folder, signal }: ComposeOptions): Promise<RecordedFile[]> {
  const { file } = settingsOf(job)
  const timeline = await readTimeline(folder)
  if (!timeline) return []
  const draft = join(folder, `composing-${file}`)
  const durationMs = await new Composition(job, folder, draft, requireCompositor()).run(timeline, signal)
  if (durationMs === 0) return []
  const { size } = await stat(draft)
  await rename(draft, join(folder, file))
  const { startedAt } = timeline.start
  const { hasAudio, hasVideo } = job
  return [{ name: file, size, hasAudio, hasVideo, startedAt, endedAt: startedAt + Math.round(durationMs) }]
}

class Composition {
  readonly #composer: Composer
  readonly #streams: ReplayedStreams
  readonly #scene: Scene | undefined

  constructor(job: RecordingJob, folder: string, draft: string, program: string) {
    const settings = settingsOf(job)
    const { recordingId, part } = job
    const onError = (problem: string): void =>
      logger.warn({ recordingId, part, problem }, 'the compositor reported an error')
    const onPicture = (source: number, isRefused: boolean): void => {
      if (isRefused) this.#streams.refused(source)
      else this.#streams.decoded(source)
      this.#arrange()
    }
    const command = [...openCommand(settings, draft), join(folder, PACKETS_FILE)]
    this.#composer = new Composer(program, command, draft, { onPicture, onError })
    const send = (...words: readonly (string | number)[]): void => this.#composer.send(...words)
    this.#streams = new ReplayedStreams(send)
    this.#scene = job.hasVideo ? new Scene(settings.layout, settings.size, { send }) : undefined
  }

  /** Resolves with the duration of the file, ms. */
  async run(timeline: Timeline, signal: AbortSignal): Promise<number> {
    const onAbort = (): void => this.#composer.kill('was interrupted')
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      signal.throwIfAborted()
      const durationMs = await this.#replay(timeline)
      if (durationMs > 0) await this.#composer.finish()
      return durationMs
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#composer.kill('has failed')
      await this.#composer.exited
    }
  }

  async #replay({ entries }: Timeline): Promise<number> {
    for (const entry of entries) {
      const { atMs, isEnd } = await this.#composer.until(entry.at)
      if (isEnd || entry.event === 'ended') return atMs
      this.#streams.apply(entry)
      this.#arrange()
    }
    return (await this.#composer.until(Number.MAX_SAFE_INTEGER)).atMs
  }

  #arrange(): void {
    this.#scene?.arrange(this.#streams.shown)
  }
}
