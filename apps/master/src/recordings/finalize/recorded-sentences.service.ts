import type { RecordingEnded } from '@session-service/contract'
import { sleep } from '@session-service/server-kit'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import type { SpokenSentence } from '../../speech-to-text/transcript-formats.js'
import { TranscriptsService } from '../../speech-to-text/transcripts.service.js'
import { subtitlesFailed } from '../muxing/subtitles.js'
import type { RecordingRow } from '../repository/recording-row.js'

/** The media node has reported the last sentence of a recording by then, ms after the end of its media. */
const LAST_SENTENCE_MS = 5_000

/** The sentences of the transcript that recordings contain. */
@Injectable()
export class RecordedSentences {
  constructor(
    private readonly transcripts: TranscriptsService,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** Waits for the last sentence, if the session has a transcript. None after a failure: it never fails a recording. */
  async of(
    { id, uniqueSessionId }: RecordingRow,
    parts: readonly RecordingEnded[],
    signal: AbortSignal,
  ): Promise<SpokenSentence[]> {
    const files = parts.flatMap((part) => part.files)
    try {
      if (files.length === 0 || !(await this.transcripts.expectsSentences(uniqueSessionId))) return []
      const from = Math.min(...files.map(({ startedAt }) => startedAt))
      const to = Math.max(...files.map(({ endedAt }) => endedAt))
      await this.#waitForLast(to, signal)
      return await this.transcripts.spokenBetween(uniqueSessionId, from, to)
    } catch (error) {
      signal.throwIfAborted()
      subtitlesFailed(id, error)
      return []
    }
  }

  async #waitForLast(end: number, signal: AbortSignal): Promise<void> {
    if (!this.config.SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS) return
    const sinceEnd = Math.max(0, this.clock.now() - end)
    await sleep(Math.max(0, LAST_SENTENCE_MS - sinceEnd), signal)
    signal.throwIfAborted()
  }
}
