import {
  HEARTBEAT_INTERVAL_MS,
  type NodeCommand,
  type NodeCommandParams,
  type NodeCommandResult,
  nodeRpc,
  ServiceError,
  SUBJECT,
} from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { unlessAborted } from '@session-service/server-kit'
import { Injectable, Logger } from '@nestjs/common'
import { MediaNodesService } from './media-nodes.service.js'
import type { NodeBoot } from './room-place.js'

/** The commands to media nodes. */
@Injectable()
export class NodeCommands {
  readonly #logger = new Logger(NodeCommands.name)

  constructor(
    private readonly bus: Bus,
    private readonly mediaNodes: MediaNodesService,
  ) {}

  /** Sends a command and waits for its result. Rejects with the node's ServiceError, UNAVAILABLE (node gone) or TIMEOUT. */
  request<C extends NodeCommand>(
    { nodeId }: Pick<NodeBoot, 'nodeId'>,
    command: C,
    params: NodeCommandParams<C>,
    options: { timeoutMs?: number } = {},
  ): Promise<NodeCommandResult<C>> {
    return this.bus.request(SUBJECT.nodeCommand(nodeId, command), nodeRpc(command), params, options)
  }

  /**
   * Like `request`, for commands that take long: rejects with UNAVAILABLE as soon as this boot of the node is lost, and
   * with the reason of `signal` when that is aborted. The node may execute the command all the same.
   */
  async requestWhileAlive<C extends NodeCommand>(
    boot: NodeBoot,
    command: C,
    params: NodeCommandParams<C>,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<NodeCommandResult<C>> {
    const lost = new AbortController()
    const watch = setInterval(() => {
      if (this.mediaNodes.isAliveHere(boot) || this.mediaNodes.isAlive(boot)) return
      lost.abort(new ServiceError('UNAVAILABLE', `media node ${boot.nodeId} was lost`))
    }, HEARTBEAT_INTERVAL_MS)
    try {
      const ended = signal ? AbortSignal.any([signal, lost.signal]) : lost.signal
      return await unlessAborted(this.request(boot, command, params), ended)
    } finally {
      clearInterval(watch)
    }
  }

  /** Sends a command without a result that the caller needs. A failure is logged; the reconciler repairs its effect. */
  async notify<C extends NodeCommand>(
    node: Pick<NodeBoot, 'nodeId'>,
    command: C,
    params: NodeCommandParams<C>,
  ): Promise<void> {
    await this.request(node, command, params).catch((error: unknown) => {
      this.#logger.warn({ mediaNodeId: node.nodeId }, `the media node did not complete ${command}: ${String(error)}`)
    })
  }
}
