import { describeIssues, LanguageModelBody, ServiceError } from '@session-service/contract'
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
