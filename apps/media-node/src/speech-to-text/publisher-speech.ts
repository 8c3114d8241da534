import type { SpeechToTextMessage, TranscriptSentence } from '@session-service/contract'
import { serviceClock } from '@session-service/server-kit'
import type { SpeechResult } from '@session-service/speech'
import type { Room } from '../rooms/room.js'
import type { Stream } from '../rooms/stream.js'
import type { ModelSlot } from './model-slot.js'
import type { RoomTranscription } from './room-transcription.js'
import type { SpeechMetrics } from './speech-metrics.js'
import { speechMessage } from './speech-message.js'
import type { SpeechSubscription } from './speech-subscription.js'
import { Transcriber } from './transcriber.js'

interface PublisherSpeechOptions {
  room: Room
  /** The connection that speaks. */
  publisherId: string
  lang: string
  slot: ModelSlot
  metrics: SpeechMetrics
  /** A sentence for the transcript of the session. */
  onSentence: (sentence: TranscriptSentence) => void
  /** A stream is not recognized any more although it goes on. */
  onFailed: (speech: PublisherSpeech, reason: string) => void
}

/** The speech of a connection in one language: all its streams, each recognized once for all subscribers. */
export class PublisherSpeech {
  readonly subscriptions = new Set<SpeechSubscription>()
  /** The transcription of the whole room, if it includes this speech. */
  transcription: RoomTranscription | undefined
  readonly #transcribers = new Map<Stream, Transcriber>()
  /** Streams that have ended, whose last words belong to the transcript: their subscriptions may end before these. */
  readonly #lastWords = new WeakSet<Stream>()
  /** The recipients of the last words of streams that have ended. */
  readonly #lastRecipients = new WeakMap<Stream, string[]>()

  constructor(private readonly options: PublisherSpeechOptions) {
    const { room, publisherId } = options
    for (const stream of room.streams.values())
      if (stream.publisher.connectionId === publisherId) this.published(stream)
  }

  get publisherId(): string {
    return this.options.publisherId
  }

  get lang(): string {
    return this.options.lang
  }

  get slot(): ModelSlot {
    return this.options.slot
  }

  /** The connections that receive it. */
  get recipients(): string[] {
    const active = [...this.subscriptions].filter(({ isActive }) => isActive)
    return [...new Set(active.map(({ connectionId }) => connectionId))]
  }

  /** Whether a subscription or the transcription of the room still needs it. */
  get isUsed(): boolean {
    return this.subscriptions.size > 0 || this.transcription !== undefined
  }

  /** Resolves when the streams of the moment of the call are being recognized. Never rejects. */
  async opened(): Promise<void> {
    await Promise.all([...this.#transcribers.values()].map(({ opened }) => opened))
  }

  /** Other audio is recognized from now on, for example that of a filter. */
  mediaReplaced(stream: Stream): void {
    const former = this.#transcribers.get(stream)
    if (!former) return
    former.finish()
    this.published(stream)
  }

  published(stream: Stream): void {
    if (!stream.track('audio')) return
    const transcriber = new Transcriber(stream, this.slot, {
      result: (result, startedAt) => this.#report(stream, result, startedAt),
      failed: (reason) => this.options.onFailed(this, reason),
    })
    this.#transcribers.set(stream, transcriber)
  }

  unpublished(stream: Stream): void {
    const transcriber = this.#transcribers.get(stream)
    this.#transcribers.delete(stream)
    if (this.#isTranscribed) this.#lastWords.add(stream)
    this.#lastRecipients.set(stream, this.recipients)
    if (this.#isTranscribed || this.recipients.length > 0) transcriber?.finish()
    else transcriber?.close()
  }

  /** The room is being closed: as if its streams had ended before, if their last words belong to the transcript. */
  finish(): void {
    if (this.#isTranscribed) for (const stream of [...this.#transcribers.keys()]) this.unpublished(stream)
  }

  close(): void {
    for (const transcriber of this.#transcribers.values()) transcriber.close()
    this.#transcribers.clear()
  }

  #report(stream: Stream, result: SpeechResult, startedAt: number): void {
    const { room, publisherId: connectionId, lang, metrics, onSentence } = this.options
    const to = this.#recipientsOf(stream)
    if (result.kind === 'final') metrics.recognized()
    const isTranscribed = result.kind === 'final' && (this.#isTranscribed || this.#lastWords.has(stream))
    const isReceived = to.length > 0 && !room.closed
    if (!isReceived && !isTranscribed) return
    const toUtc = (seconds: number): number => serviceClock.at(startedAt + seconds * 1_000)
    const message = speechMessage(result, { connectionId, streamId: stream.id, lang }, toUtc)
    if (isReceived) room.report({ kind: 'speechToText', to, message })
    if (isTranscribed) onSentence({ ...sentenceOf(message), clientData: stream.publisher.metadata.clientData })
  }

  /** The subscriptions to a publisher end when it leaves, before its last words are recognized. */
  #recipientsOf(stream: Stream): string[] {
    const { peers } = this.options.room
    const last = peers.has(this.publisherId) ? undefined : this.#lastRecipients.get(stream)
    return last?.filter((connectionId) => peers.has(connectionId)) ?? this.recipients
  }

  get #isTranscribed(): boolean {
    if (this.transcription) return true
    return [...this.subscriptions].some((each) => each.isActive && each.isTranscribed)
  }
}

function sentenceOf(message: SpeechToTextMessage): TranscriptSentence {
  const { connectionId, streamId, lang, text, timestamp, endTime, words } = message
  return { connectionId, streamId, lang, text, timestamp, endTime, words }
}
