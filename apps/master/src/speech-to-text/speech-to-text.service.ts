import { ServiceError, type SignallingCall } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { ParticipantRepository } from '../connections/participant.repository.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { isUncertain, type PlacedParticipant } from '../streams/streams.service.js'
import { counted } from './speech-metrics.js'
import { speechSettings } from './speech-settings.js'

/** The caption subscriptions of participants. The media node owns them, and publishes their texts as room events. */
@Injectable()
export class SpeechToTextService {
  /** The newest subscription, by subscriber and publisher, while its command waits for an answer. */
  readonly #newest = new Map<string, object>()

  constructor(
    private readonly nodeCommands: NodeCommands,
    private readonly participants: ParticipantRepository,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /**
   * Subscribes to the speech of a connection. After a command without an answer there is no subscription, unless the
   * participant has subscribed again meanwhile, or `mayUndo` returns false: it may have done so through another master.
   */
  async subscribe(
    participant: PlacedParticipant,
    { connectionId: publisherId, lang }: SignallingCall<'subscribeToSpeechToText'>,
    mayUndo: () => boolean,
  ): Promise<void> {
    const { roomId, connectionId, place } = participant
    const settings = speechSettings(this.config)
    const subscription = { roomId, connectionId, publisherId }
    const key = `${connectionId} ${publisherId}`
    this.#newest.set(key, subscription)
    try {
      await counted(
        'subscribe',
        this.nodeCommands.requestWhileAlive(place, 'subscribeToSpeechToText', { ...subscription, lang, settings }),
      )
    } catch (error) {
      if (isUncertain(error) && this.#newest.get(key) === subscription && mayUndo())
        void this.nodeCommands.notify(place, 'unsubscribeFromSpeechToText', subscription)
      throw await this.#subscriptionError(participant, publisherId, error)
    } finally {
      if (this.#newest.get(key) === subscription) this.#newest.delete(key)
    }
  }

  async unsubscribe({ roomId, connectionId, place }: PlacedParticipant, publisherId: string): Promise<void> {
    speechSettings(this.config)
    await this.nodeCommands.request(place, 'unsubscribeFromSpeechToText', { roomId, connectionId, publisherId })
  }

  /** A node does not know participants whose media is being moved: the database decides whether there is a publisher. */
  async #subscriptionError({ sessionId }: PlacedParticipant, publisherId: string, error: unknown): Promise<unknown> {
    if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND' || error.subject === 'languageModel')
      return error
    const publishers = await this.participants.activeAmong(sessionId, [publisherId])
    return publishers.has(publisherId)
      ? new ServiceError('UNAVAILABLE', `the media of the connection ${publisherId} is being moved`, { cause: error })
      : new ServiceError('NOT_FOUND', `no connection with the id ${publisherId}`, { cause: error })
  }
}
