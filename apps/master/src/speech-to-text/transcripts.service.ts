import type { NodeFact, TranscriptSentenceView, TranscriptView } from '@session-service/contract'
import {
  type SearchTranscriptsQuery,
  type SessionTranscriptQuery,
  TRANSCRIPT_PAGE,
  type TranscriptFileQuery,
} from '@session-service/contract/rest-api'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { Job, type JobRun } from '../platform/jobs/job.js'
import { noSuchSession } from '../sessions/no-such-session.js'
import { SessionTranscriptionRepository } from '../sessions/session-transcription.repository.js'
import { type SpokenSentence, textLine, VTT_HEADER, vttCue } from './transcript-formats.js'
import {
  type SentenceFilter,
  type SentencePage,
  type SentencePosition,
  TranscriptRepository,
} from './transcript.repository.js'
import type { TranscriptSentenceEntity } from './transcript-sentence.entity.js'

const PURGE_EVERY_MS = 3_600_000
const PURGE_BATCH = 10_000

/** The transcripts of sessions: stores recognized sentences, reads and searches them, and deletes old ones. */
@Injectable()
export class TranscriptsService {
  constructor(
    private readonly transcripts: TranscriptRepository,
    private readonly transcriptions: SessionTranscriptionRepository,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** Stores a reported sentence; a repetition of the report has no effect. */
  async store({ factId, roomId, sentence }: Extract<NodeFact, { kind: 'sentenceRecognized' }>): Promise<void> {
    // A node learns that transcripts were switched off with the next subscription.
    if (!this.config.SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS) return
    await this.transcripts.insert(factId, roomId, sentence)
  }

  async ofSession(sessionId: string, query: SessionTranscriptQuery): Promise<TranscriptView> {
    const filter = await this.#filterOf(sessionId, query)
    return this.#page(filter, { order: 'ASC', ...pageOf(query) })
  }

  /** The parts of the complete transcript as WebVTT. The first part is read before it resolves. */
  async vtt(sessionId: string, query: TranscriptFileQuery): Promise<AsyncIterable<string>> {
    return this.#file(await this.#filterOf(sessionId, query), vttCue, VTT_HEADER)
  }

  /** The lines of the complete transcript. The first part is read before it resolves. */
  async text(sessionId: string, query: TranscriptFileQuery): Promise<AsyncIterable<string>> {
    return this.#file(await this.#filterOf(sessionId, query), textLine, '')
  }

  /** Whether sentences of this use of a session are stored, or all of it is being transcribed. */
  async expectsSentences(uniqueSessionId: string): Promise<boolean> {
    if (await this.transcripts.hasSentences(uniqueSessionId)) return true
    return (await this.transcriptions.languages([uniqueSessionId])).size > 0
  }

  /** The sentences of a use of a session that were spoken between two points in time, UTC ms, by their begin. */
  spokenBetween(uniqueSessionId: string, from: number, to: number): Promise<SpokenSentence[]> {
    return this.transcripts.spokenBetween(uniqueSessionId, from, to)
  }

  search(query: SearchTranscriptsQuery): Promise<TranscriptView> {
    const { session: sessionId, text, lang, from, to } = query
    const time = (value: string | undefined): number | undefined => (value === undefined ? undefined : Number(value))
    return this.#page({ sessionId, text, lang, from: time(from), to: time(to) }, { order: 'DESC', ...pageOf(query) })
  }

  @Job({
    name: 'old transcripts',
    scope: 'leader',
    everyMs: ({ SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS_RETENTION: days }) => (days > 0 ? PURGE_EVERY_MS : undefined),
    isSlow: true,
  })
  async purgeOld({ isStopping }: JobRun): Promise<void> {
    const days = this.config.SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS_RETENTION
    while (!isStopping() && (await this.transcripts.deleteOld(days, PURGE_BATCH)) === PURGE_BATCH);
  }

  /** @throws ServiceError NOT_FOUND for a session, or a use of it, that is neither live nor has sentences */
  async #filterOf(sessionId: string, { uniqueSessionId, lang }: TranscriptFileQuery): Promise<SentenceFilter> {
    const use = uniqueSessionId ?? (await this.transcripts.lastUse(sessionId))
    const exists =
      use !== undefined && (uniqueSessionId === undefined || (await this.transcripts.hasUse(sessionId, use)))
    if (!exists) throw noSuchSession(sessionId)
    return { sessionId, uniqueSessionId: use, lang }
  }

  async #page(filter: SentenceFilter, page: SentencePage): Promise<TranscriptView> {
    const found = await this.transcripts.find(filter, { ...page, limit: page.limit + 1 })
    const content = found.slice(0, page.limit)
    const last = found.length > page.limit ? content.at(-1) : undefined
    return {
      numberOfElements: content.length,
      content: content.map(sentenceView),
      ...(last && { next: `${last.startTime}-${last.id}` }),
    }
  }

  async #file(
    filter: SentenceFilter,
    format: (sentence: TranscriptSentenceEntity) => string,
    header: string,
  ): Promise<AsyncIterable<string>> {
    const read = (after?: SentencePosition): Promise<TranscriptSentenceEntity[]> =>
      this.transcripts.find(filter, { order: 'ASC', limit: TRANSCRIPT_PAGE, after })
    const first = await read()
    return (async function* () {
      yield header
      for (let page = first; page.length > 0; page = page.length < TRANSCRIPT_PAGE ? [] : await read(page.at(-1)))
        yield page.map(format).join('')
    })()
  }
}

function pageOf({ limit, after }: Pick<SessionTranscriptQuery, 'limit' | 'after'>): Omit<SentencePage, 'order'> {
  const [startTime, id = ''] = after?.split('-') ?? []
  return {
    limit: limit === undefined ? TRANSCRIPT_PAGE : Number(limit),
    after: startTime === undefined ? undefined : { startTime: Number(startTime), id },
  }
}

const sentenceView = ({ endTime, words, ...row }: TranscriptSentenceEntity): TranscriptSentenceView => ({
  id: row.id,
  object: 'sentence',
  sessionId: row.sessionId,
  uniqueSessionId: row.uniqueSessionId,
  connectionId: row.connectionId,
  clientData: row.clientData,
  streamId: row.streamId,
  lang: row.lang,
  text: row.text,
  startTime: row.startTime,
  ...(endTime !== null && { endTime }),
  ...(words && { words }),
})
