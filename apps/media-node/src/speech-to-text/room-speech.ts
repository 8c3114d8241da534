import {
  ServiceError,
  type MediaKind,
  type NodeCommandCall,
  type SpeechSettings,
  type TranscriptSentence,
} from '@session-service/contract'
import { sleep } from '@session-service/server-kit'
import type { Room, RoomObserver } from '../rooms/room.js'
import type { Stream } from '../rooms/stream.js'
import type { LanguageModels } from './language-models.js'
import type { ModelSlot } from './model-slot.js'
import { PublisherSpeech } from './publisher-speech.js'
import { RoomTranscription } from './room-transcription.js'
import type { SpeechMetrics } from './speech-metrics.js'
import { SpeechSubscription } from './speech-subscription.js'

export const SPEECH_SUBSCRIPTIONS_PER_CONNECTION = 100
/** Masters and clients wait 10 s for an answer. */
const ANSWER_MS = 9_000

/** A connection and the publisher to whose speech it subscribes: one language, and another one while that is prepared. */
interface Pair {
  active: SpeechSubscription | undefined
  pending: { subscription: SpeechSubscription; answer: Promise<void> } | undefined
}

interface RoomSpeechOptions {
  room: Room
  models: LanguageModels
  metrics: SpeechMetrics
  onSentence: (sentence: TranscriptSentence) => void
  /** The room is closed, or neither a subscription nor a transcription is left. */
  onEmpty: () => void
}

/** The subscriptions to speech in a room, and its transcription. */
export class RoomSpeech implements RoomObserver {
  readonly #room: Room
  /** By subscriber and publisher. */
  readonly #pairs = new Map<string, Map<string, Pair>>()
  /** By publisher and language. */
  readonly #speeches = new Map<string, PublisherSpeech>()
  readonly #stopObserving: () => void
  #transcription: RoomTranscription | undefined
  /** Replaces the present one as soon as it has started. */
  #nextTranscription: RoomTranscription | undefined

  constructor(private readonly options: RoomSpeechOptions) {
    this.#room = options.room
    this.#stopObserving = options.room.observe(this)
  }

  /** @throws ServiceError */
  subscribe({ connectionId, publisherId, lang, settings }: NodeCommandCall<'subscribeToSpeechToText'>): Promise<void> {
    this.#room.peer(connectionId)
    this.#room.participant(publisherId)
    const pair = this.#pair(connectionId, publisherId)
    const isTranscribed = settings.transcripts ?? false
    if (pair.pending?.subscription.lang === lang) {
      pair.pending.subscription.isTranscribed = isTranscribed
      return pair.pending.answer
    }
    if (pair.pending) this.#end(pair.pending.subscription, replaced())
    pair.pending = undefined
    if (pair.active?.lang === lang) {
      pair.active.isTranscribed = isTranscribed
      return Promise.resolve()
    }
    const subscription = new SpeechSubscription(connectionId, publisherId, lang)
    subscription.isTranscribed = isTranscribed
    const answer = this.#prepare(pair, subscription, settings)
    pair.pending = { subscription, answer }
    return answer
  }

  /** False if there is no subscription. */
  unsubscribe(connectionId: string, publisherId: string): boolean {
    return this.#endPair(connectionId, publisherId, 'the subscription was ended')
  }

  get transcribedIn(): string | undefined {
    return (this.#nextTranscription ?? this.#transcription)?.lang
  }

  /** @throws ServiceError; then the transcription in another language goes on */
  async startTranscription(lang: string, settings: SpeechSettings): Promise<void> {
    const latest = this.#nextTranscription ?? this.#transcription
    if (latest?.lang === lang) return latest.started
    this.#endTranscription(this.#nextTranscription)
    const { models } = this.options
    const onOpen = (opened: RoomTranscription, slot: ModelSlot): void => this.#transcribe(opened, slot)
    const next = new RoomTranscription({ roomId: this.#room.id, lang, settings, models, onOpen })
    this.#nextTranscription = next
    try {
      await next.started
    } catch (error) {
      if (this.#nextTranscription === next) this.#nextTranscription = undefined
      this.#endTranscription(next)
      this.#endIfEmpty()
      throw error
    }
    if (this.#nextTranscription !== next) throw new ServiceError('CONFLICT', 'the transcription was ended or replaced')
    this.#nextTranscription = undefined
    this.#endTranscription(this.#transcription)
    this.#transcription = next
  }

  stopTranscription(): void {
    for (const transcription of [this.#transcription, this.#nextTranscription]) this.#endTranscription(transcription)
    this.#transcription = undefined
    this.#nextTranscription = undefined
    this.#endIfEmpty()
  }

  published(stream: Stream): void {
    for (const speech of this.#speechesOf(stream.publisher.connectionId)) speech.published(stream)
    for (const transcription of [this.#transcription, this.#nextTranscription])
      if (transcription?.slot) this.#transcribe(transcription, transcription.slot)
  }

  unpublished(stream: Stream): void {
    for (const speech of this.#speechesOf(stream.publisher.connectionId)) speech.unpublished(stream)
  }

  mediaReplaced(stream: Stream, kinds: readonly MediaKind[]): void {
    if (!kinds.includes('audio')) return
    for (const speech of this.#speechesOf(stream.publisher.connectionId)) speech.mediaReplaced(stream)
  }

  /** While a stream is muted no audio arrives. */
  changed(): void {}

  /** Only the client that enters again repeats its subscriptions: those of others to its speech go on. */
  left(connectionId: string, isReplaced: boolean): void {
    const reason = `connection ${connectionId} has left`
    for (const publisherId of [...(this.#pairs.get(connectionId)?.keys() ?? [])])
      this.#endPair(connectionId, publisherId, reason)
    if (isReplaced) return
    for (const subscriberId of [...this.#pairs.keys()]) this.#endPair(subscriberId, connectionId, reason)
    for (const speech of this.#speechesOf(connectionId)) {
      speech.transcription = undefined
      this.#closeUnused(speech)
    }
  }

  closed(): void {
    for (const speech of this.#speeches.values()) speech.finish()
    for (const [connectionId, pairs] of [...this.#pairs])
      for (const publisherId of [...pairs.keys()]) this.#endPair(connectionId, publisherId, 'the room was closed')
    this.stopTranscription()
  }

  /** The process of a model has failed: ends the subscriptions that used it. */
  slotFailed(slot: ModelSlot, reason: string): void {
    for (const speech of [...this.#speeches.values()]) if (speech.slot === slot) this.#fail(speech, reason)
    for (const transcription of [this.#transcription, this.#nextTranscription]) transcription?.slotFailed(slot)
  }

  /** The speech of all participants that have streams. */
  #transcribe(transcription: RoomTranscription, slot: ModelSlot): void {
    for (const { publisher } of this.#room.streams.values())
      this.#speech(publisher.connectionId, transcription.lang, slot).transcription = transcription
  }

  #endTranscription(transcription: RoomTranscription | undefined): void {
    transcription?.end()
    for (const speech of [...this.#speeches.values()]) {
      if (!transcription || speech.transcription !== transcription) continue
      speech.transcription = undefined
      this.#closeUnused(speech)
    }
  }

  #closeUnused(speech: PublisherSpeech): void {
    if (speech.isUsed) return
    const key = speechKey(speech.publisherId, speech.lang)
    if (this.#speeches.get(key) === speech) this.#speeches.delete(key)
    speech.close()
  }

  /** The former language stays until the new one is ready. */
  async #prepare(pair: Pair, subscription: SpeechSubscription, settings: SpeechSettings): Promise<void> {
    try {
      await this.#open(subscription, settings)
    } catch (error) {
      if (pair.pending?.subscription === subscription) pair.pending = undefined
      this.#end(subscription, error as ServiceError)
      this.#removeEmpty(subscription.connectionId, subscription.publisherId, pair)
      throw error
    }
    pair.pending = undefined
    if (pair.active) this.#end(pair.active, replaced())
    pair.active = subscription
    subscription.isActive = true
  }

  async #open(subscription: SpeechSubscription, settings: SpeechSettings): Promise<void> {
    const begin = performance.now()
    const { publisherId, lang } = subscription
    const isRecognized = this.#speeches.has(speechKey(publisherId, lang))
    const acquiring = this.options.models.acquire(lang, settings, ANSWER_MS, isRecognized).then((use) => {
      // The subscription may have ended while it waited.
      if (subscription.isEnded) use.release()
      else subscription.use = use
      return use
    })
    const use = await subscription.unlessEnded(acquiring)
    const speech = this.#speech(publisherId, lang, use.slot)
    subscription.speech = speech
    speech.subscriptions.add(subscription)
    // A stream that opens slowly must not fail the subscription: it is recognized as soon as it is open.
    const limit = new AbortController()
    const rest = sleep(Math.max(0, begin + ANSWER_MS - performance.now()), limit.signal)
    await subscription.unlessEnded(Promise.race([speech.opened(), rest])).finally(() => limit.abort())
  }

  #speech(publisherId: string, lang: string, slot: ModelSlot): PublisherSpeech {
    const key = speechKey(publisherId, lang)
    const present = this.#speeches.get(key)
    if (present) return present
    const { room, metrics, onSentence } = this.options
    const onFailed = (failed: PublisherSpeech, reason: string): void => {
      metrics.failure('stream')
      this.#fail(failed, reason)
    }
    const speech = new PublisherSpeech({ room, publisherId, lang, slot, metrics, onSentence, onFailed })
    this.#speeches.set(key, speech)
    return speech
  }

  /** Ends the subscriptions to a speech that is not recognized any more; their clients subscribe again. */
  #fail(speech: PublisherSpeech, reason: string): void {
    const { recipients: to, publisherId, lang, transcription } = speech
    for (const subscription of [...speech.subscriptions]) {
      const { connectionId, isActive } = subscription
      this.#end(subscription, new ServiceError('NOT_READY', `${reason}, retry`))
      const pair = this.#pairs.get(connectionId)?.get(publisherId)
      if (!pair || !isActive) continue
      pair.active = undefined
      this.#removeEmpty(connectionId, publisherId, pair)
    }
    speech.transcription = undefined
    this.#closeUnused(speech)
    transcription?.streamFailed()
    if (to.length === 0 || this.#room.closed) return
    this.#room.report({ kind: 'speechToTextDisconnected', to, connectionId: publisherId, lang, message: reason })
  }

  /** False if there is no subscription. */
  #endPair(connectionId: string, publisherId: string, reason: string): boolean {
    const pair = this.#pairs.get(connectionId)?.get(publisherId)
    if (!pair) return false
    const { active, pending } = pair
    const error = new ServiceError('NOT_FOUND', reason, { subject: 'connection' })
    pair.active = undefined
    pair.pending = undefined
    if (pending) this.#end(pending.subscription, error)
    if (active) this.#end(active, error)
    this.#removeEmpty(connectionId, publisherId, pair)
    return true
  }

  #end(subscription: SpeechSubscription, reason: ServiceError): void {
    const { speech, use } = subscription
    subscription.end(reason)
    subscription.speech = undefined
    subscription.use = undefined
    if (speech) {
      speech.subscriptions.delete(subscription)
      this.#closeUnused(speech)
    }
    use?.release()
  }

  #pair(connectionId: string, publisherId: string): Pair {
    const pairs = this.#pairs.get(connectionId) ?? new Map<string, Pair>()
    const present = pairs.get(publisherId)
    if (present) return present
    if (pairs.size >= SPEECH_SUBSCRIPTIONS_PER_CONNECTION) {
      const message = `a connection has at most ${SPEECH_SUBSCRIPTIONS_PER_CONNECTION} subscriptions to speech`
      throw new ServiceError('LIMIT_REACHED', message)
    }
    const pair: Pair = { active: undefined, pending: undefined }
    this.#pairs.set(connectionId, pairs.set(publisherId, pair))
    return pair
  }

  #removeEmpty(connectionId: string, publisherId: string, pair: Pair): void {
    const pairs = this.#pairs.get(connectionId)
    if (pair.active || pair.pending || pairs?.get(publisherId) !== pair) return
    pairs.delete(publisherId)
    if (pairs.size === 0) this.#pairs.delete(connectionId)
    this.#endIfEmpty()
  }

  #endIfEmpty(): void {
    if (this.#pairs.size > 0 || this.#transcription || this.#nextTranscription) return
    this.#stopObserving()
    this.options.onEmpty()
  }

  #speechesOf(publisherId: string): PublisherSpeech[] {
    return [...this.#speeches.values()].filter((speech) => speech.publisherId === publisherId)
  }
}

const speechKey = (publisherId: string, lang: string): string => JSON.stringify([publisherId, lang])

const replaced = (): ServiceError => new ServiceError('CONFLICT', 'a later subscription has replaced this one')
