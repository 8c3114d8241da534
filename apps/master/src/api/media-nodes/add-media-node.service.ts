import { setTimeout } from 'node:timers/promises'
import {
  type AddMediaNodeBody,
  type Heartbeat,
  type MediaNodeListView,
  type MediaNodeView,
  newMediaNodeId,
  ServiceError,
} from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { NODE_DRIVER, type NodeDriver } from '../../media-nodes/drivers/node-driver.js'
import { endpointOf, uriFault } from './media-node-uri.js'
import type { MediaNodeRow } from '../../media-nodes/media-node.repository.js'
import { isConnected, MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { NodeLaunchService } from '../../media-nodes/node-launch.service.js'
import { MediaNodeQueries } from './media-node-queries.service.js'
import { NodeRegistration } from '../../recovery/node-registration.service.js'

/** A node that has just been started is heard within this long, ms. */
const HEARD_WITHIN_MS = 3_000
const POLL_MS = 100

/** Media nodes that backends add: ones that run already, or new ones where something can start them. */
@Injectable()
export class AddMediaNode {
  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly registry: NodeRegistration,
    private readonly launches: NodeLaunchService,
    private readonly listing: MediaNodeQueries,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  async add(body: AddMediaNodeBody): Promise<MediaNodeView> {
    const row = this.driver.startsNodes ? await this.launch(body) : await this.admit(body)
    return this.listing.view(row)
  }

  /** All that are heard and do not belong yet. */
  async discover(): Promise<MediaNodeListView> {
    const admitted = await Promise.all(this.strangers().map((beat) => this.registry.admit(beat)))
    return this.listing.views(admitted.filter((row) => row !== undefined))
  }

  private launch({ environmentId, instanceType, volumeSize }: AddMediaNodeBody): Promise<MediaNodeRow> {
    return this.launches.launch({ id: newMediaNodeId(), environmentId, instanceType, volumeSize })
  }

  private async admit({ uri, environmentId }: AddMediaNodeBody): Promise<MediaNodeRow> {
    if (uri === undefined) {
      throw new ServiceError('DISABLED', 'on premises media nodes are started by the operator: uri must name one')
    }
    const fault = uriFault(uri, this.config.SERVICE_PUBLICURL)
    if (fault !== undefined) throw new ServiceError('INVALID', `uri: ${fault}`)
    const beat = await this.heardAt(uri)
    const row = await this.registry.admit(beat, beat.environmentId || environmentId)
    if (!row) throw inTheClusterAlready(uri)
    return row
  }

  /** Whoever is told of by that address on the bus: nothing is ever dialled because a request says so. */
  private async heardAt(uri: string): Promise<Heartbeat> {
    const endpoint = endpointOf(uri)
    const isThere = (one: { uri: string }): boolean => endpointOf(one.uri) === endpoint
    for (const deadline = performance.now() + HEARD_WITHIN_MS; ; await setTimeout(POLL_MS)) {
      if (this.mediaNodes.rows().some((row) => isThere(row) && isConnected(row))) throw inTheClusterAlready(uri)
      const beat = this.mediaNodes.live().find(isThere)
      if (beat) return beat
      if (performance.now() >= deadline)
        throw new ServiceError('NOT_FOUND', `no media node is heard from ${uri}`, { subject: 'mediaNode' })
    }
  }

  private strangers(): Heartbeat[] {
    const members = new Set(
      this.mediaNodes
        .rows()
        .filter(isConnected)
        .map(({ id }) => id),
    )
    return this.mediaNodes.live().filter(({ nodeId, status }) => !members.has(nodeId) && status === 'running')
  }
}

const inTheClusterAlready = (uri: string): ServiceError =>
  new ServiceError('CONFLICT', `the media node at ${uri} is in the cluster already`)
