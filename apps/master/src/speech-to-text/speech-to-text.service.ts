import {
  describeIssues,
  LanguageModelBody,
  ServiceError,
  type SignallingCall,
  type SpeechSettings,
} from '@session-service/contract'
import type { PlacedParticipant } from '../streams/streams.service.js'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'

/** Language models of media nodes. This version contains no engine: valid requests are answered with DISABLED. */
@Injectable()
export class SpeechToTextService {
  constructor(
    private readonly mediaNodes: MediaNodesService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  async subscribe(participant: PlacedParticipant, call: SignallingCall<'subscribeToSpeechToText'>): Promise<void> {
    const { roomId, connectionId, place } = participant
    const { connectionId: publisherId, lang } = call
    const settings = this.#settings()
    await this.mediaNodes.request(place, 'subscribeToSpeechToText', {
      roomId,
      connectionId,
      publisherId,
      lang,
      settings,
    })
  }

  async unsubscribe({ roomId, connectionId, place }: PlacedParticipant, publisherId: string): Promise<void> {
    await this.mediaNodes.request(place, 'unsubscribeFromSpeechToText', { roomId, connectionId, publisherId })
  }

  #settings(): SpeechSettings {
    const { config } = this
    const engine = config.SERVICE_PRO_SPEECH_TO_TEXT
    if (engine === 'disabled')
      throw new ServiceError('DISABLED', 'speech to text is disabled (SERVICE_PRO_SPEECH_TO_TEXT)')
    return {
      engine,
      strategy: config.SERVICE_PRO_SPEECH_TO_TEXT_MODEL_LOAD_STRATEGY,
      unloadAfterMs: config.SERVICE_PRO_SPEECH_TO_TEXT_MODEL_UNLOAD_DELAY * 1_000,
    }
  }

  /** Loading and unloading: DISABLED for a module that is off, INVALID for a body with errors, then DISABLED. */
  refuse(body: unknown): never {
    if (this.config.SERVICE_PRO_SPEECH_TO_TEXT === 'disabled') {
      throw new ServiceError('DISABLED', 'speech to text is disabled (SERVICE_PRO_SPEECH_TO_TEXT)')
    }
    const model = LanguageModelBody.safeParse(body ?? {})
    if (!model.success) throw new ServiceError('INVALID', describeIssues(model.error).join('; '))
    const { id } = model.data.mediaNode
    if (!this.mediaNodes.isKnown(id)) throw new ServiceError('INVALID', `mediaNode.id: no media node with the id ${id}`)
    throw new ServiceError('DISABLED', 'this version of the service has no language models to manage yet')
  }
}
