import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common'
import type { NodeConfig } from '@session-service/config'
import {
  type HeldRoom,
  type LanguageModelState,
  type NodeCommandCall,
  ServiceError,
  type Slots,
  type TranscriptSentence,
} from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import type { z } from 'zod'
import { NODE_CONFIG } from '../node/node-state.js'
import { MediaService, type Answer, type Commands, type SpeechToTextCommand } from '../rooms/media.service.js'
import type { Room } from '../rooms/room.js'
import { availableMemory } from './available-memory.js'
import { LanguageModels } from './language-models.js'
import { RoomSpeech } from './room-speech.js'
import { SpeechMetrics } from './speech-metrics.js'
import { TranscriptReports } from './transcript-reports.js'

type SpeechConfig = Pick<
  NodeConfig,
  'MEDIA_NODE_SPEECH_TO_TEXT_MODELS' | 'MEDIA_NODE_SPEECH_TO_TEXT_SLOTS' | 'MEDIA_NODE_VOSK_LIBRARY'
>

/**
 * Language models of this node and the recognition of the speech in its rooms. Its commands do not wait for the media
 * commands of the same connection, nor those for them: loading a model takes seconds.
 */
@Injectable()
export class SpeechToTextService implements Commands<SpeechToTextCommand>, OnModuleDestroy {
  readonly #metrics = new SpeechMetrics()
  readonly #models: LanguageModels
  readonly #rooms = new Map<Room, RoomSpeech>()

  constructor(
    @Inject(NODE_CONFIG) config: SpeechConfig,
    private readonly media: MediaService,
    @Inject(TranscriptReports) private readonly transcripts: Pick<TranscriptReports, 'send'>,
  ) {
    this.#models = new LanguageModels({
      folder: config.MEDIA_NODE_SPEECH_TO_TEXT_MODELS,
      voskLibrary: config.MEDIA_NODE_VOSK_LIBRARY,
      slots: config.MEDIA_NODE_SPEECH_TO_TEXT_SLOTS,
      availableMemory,
      metrics: this.#metrics,
      onFailed: (slot, reason) => {
        for (const room of [...this.#rooms.values()]) room.slotFailed(slot, reason)
      },
    })
    this.#registerGauges()
  }

  get slots(): z.infer<typeof Slots> {
    return this.#models.slots
  }

  get languageModels(): LanguageModelState[] {
    return this.#models.states
  }

  /** Resident memory of the processes of the models. */
  get memoryBytes(): number {
    return this.languageModels.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
  }

  /** Streams that are recognized, once for each language. */
  get streams(): number {
    return this.languageModels.reduce((sum, { streams }) => sum + streams, 0)
  }

  /** The rooms whose whole speech is transcribed. */
  get transcriptions(): (HeldRoom & { lang: string })[] {
    return [...this.#rooms].flatMap(([{ id: roomId, epoch }, { transcribedIn: lang }]) =>
      lang === undefined ? [] : [{ roomId, epoch, lang }],
    )
  }

  /** Rooms with subscriptions or a transcription. */
  get rooms(): number {
    return this.#rooms.size
  }

  async onModuleDestroy(): Promise<void> {
    await this.#models.close()
  }

  async loadLanguageModel({ lang, engine }: NodeCommandCall<'loadLanguageModel'>): Answer<'loadLanguageModel'> {
    await this.#models.load(lang, engine)
    return {}
  }

  async unloadLanguageModel({ lang }: NodeCommandCall<'unloadLanguageModel'>): Answer<'unloadLanguageModel'> {
    await this.#models.unload(lang)
    return {}
  }

  async subscribeToSpeechToText(call: NodeCommandCall<'subscribeToSpeechToText'>): Answer<'subscribeToSpeechToText'> {
    const room = this.media.rooms.get(call.roomId)
    // Before there is anything to remove again.
    room.peer(call.connectionId)
    room.participant(call.publisherId)
    await this.#speechOf(room).subscribe(call)
    return {}
  }

  async unsubscribeFromSpeechToText(
    call: NodeCommandCall<'unsubscribeFromSpeechToText'>,
  ): Answer<'unsubscribeFromSpeechToText'> {
    const room = this.media.rooms.get(call.roomId)
    const { connectionId, publisherId } = call
    room.peer(connectionId)
    if (!this.#rooms.get(room)?.unsubscribe(connectionId, publisherId)) {
      const message = `connection ${connectionId} has no subscription to the speech of ${publisherId}`
      // Without a subject: for a missing connection masters report that the media is being moved.
      throw new ServiceError('NOT_FOUND', message)
    }
    return {}
  }

  async startTranscription({
    lang,
    settings,
    ...held
  }: NodeCommandCall<'startTranscription'>): Answer<'startTranscription'> {
    await this.#speechOf(this.#room(held)).startTranscription(lang, settings)
    return {}
  }

  async stopTranscription(held: NodeCommandCall<'stopTranscription'>): Answer<'stopTranscription'> {
    this.#rooms.get(this.#room(held))?.stopTranscription()
    return {}
  }

  #room({ roomId, epoch }: HeldRoom): Room {
    const room = this.media.rooms.get(roomId)
    if (room.epoch === epoch) return room
    throw new ServiceError('NOT_FOUND', `room ${roomId} is of another epoch`, { subject: 'connection' })
  }

  #speechOf(room: Room): RoomSpeech {
    const present = this.#rooms.get(room)
    if (present) return present
    const onEmpty = (): void => void this.#rooms.delete(room)
    const onSentence = (sentence: TranscriptSentence): void => this.transcripts.send(room.id, sentence)
    const speech = new RoomSpeech({ room, models: this.#models, metrics: this.#metrics, onSentence, onEmpty })
    this.#rooms.set(room, speech)
    return speech
  }

  #registerGauges(): void {
    const count = (status: LanguageModelState['status']): number =>
      this.languageModels.filter((model) => model.status === status).length
    metrics.sampled('speech_to_text_models_loaded', 'Loaded language models', () => count('loaded'))
    metrics.sampled('speech_to_text_models_loading', 'Language models that are being loaded', () => count('loading'))
    metrics.sampled('speech_to_text_slots', 'Slots for language models of this node', () => this.slots.total)
    metrics.sampled('speech_to_text_streams', 'Streams whose speech is recognized', () => this.streams)
    metrics.sampled(
      'speech_to_text_memory_bytes',
      'Resident memory of the processes of language models',
      () => this.memoryBytes,
    )
    metrics.sampled(
      'speech_to_text_dropped_seconds',
      'Audio that was not recognized because recognizers were too slow, since the start',
      () => this.#models.droppedSeconds,
    )
  }
}
