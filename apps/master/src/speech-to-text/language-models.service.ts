import { describeIssues, LanguageModelBody, type MediaNodeStatus, ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import type { NodeBoot } from '../media-nodes/room-place.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { shuttingDown } from '../platform/http/answers/shutting-down.js'
import { counted } from './speech-metrics.js'
import { speechSettings } from './speech-settings.js'

/** A draining node still has sessions. */
const HOLDS_MODELS: readonly MediaNodeStatus[] = ['running', 'waiting-idle-to-terminate']

/**
 * Loads and unloads language models on media nodes. The node decides concurrent requests; a master stores nothing about
 * models, so that neither a lost node nor a lost master leaves outdated state.
 */
@Injectable()
export class LanguageModels implements OnModuleDestroy {
  readonly #stopping = new AbortController()

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly nodeCommands: NodeCommands,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    metrics.sampled(
      'language_models',
      'Language models in processes of the media nodes that this master receives',
      () => this.mediaNodes.live().reduce((sum, { languageModels }) => sum + languageModels.length, 0),
    )
  }

  onModuleDestroy(): void {
    this.#stopping.abort(shuttingDown())
  }

  /** Resolves when the model is loaded. A disabled module is reported before an invalid body. */
  async load(body: unknown): Promise<void> {
    const { engine } = speechSettings(this.config)
    const { lang, node } = this.#target(body)
    const { signal } = this.#stopping
    await counted('load', this.nodeCommands.requestWhileAlive(node, 'loadLanguageModel', { lang, engine }, { signal }))
  }

  async unload(body: unknown): Promise<void> {
    speechSettings(this.config)
    const { lang, node } = this.#target(body)
    const { signal } = this.#stopping
    await counted('unload', this.nodeCommands.requestWhileAlive(node, 'unloadLanguageModel', { lang }, { signal }))
  }

  #target(body: unknown): { lang: string; node: NodeBoot } {
    const model = LanguageModelBody.safeParse(body ?? {})
    if (!model.success) throw new ServiceError('INVALID', describeIssues(model.error).join('; '))
    const { lang, mediaNode } = model.data
    const nodeId = mediaNode.id
    const row = this.mediaNodes.row(nodeId)
    const beat = this.mediaNodes.members().find((member) => member.nodeId === nodeId)
    if (!row && !beat) throw new ServiceError('INVALID', `mediaNode.id: no media node with the id ${nodeId}`)
    if (row && !HOLDS_MODELS.includes(row.status) && row.status !== 'launching')
      throw new ServiceError('INVALID', `mediaNode.id: media node ${nodeId} has the status ${row.status}`)
    if (!beat) throw new ServiceError('UNAVAILABLE', `media node ${nodeId} is not connected`)
    return { lang, node: beat }
  }
}
