import {
  type AddMediaNodeBody,
  type Heartbeat,
  type MediaNodeListView,
  type MediaNodeView,
  newMediaNodeId,
  ServiceError,
} from '@session-service/contract'
import { poll } from '@session-service/server-kit'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { NODE_DRIVER, type NodeDriver } from '../../media-nodes/driver/node-driver.js'
import { endpointOf, uriFault } from './media-node-uri.js'
import type { MediaNodeRow } from '../../media-nodes/media-node.repository.js'
import { isConnected, MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { NodeLaunchService } from '../../media-nodes/node-launch.service.js'
import { MediaNodeQueries } from './media-node-queries.service.js'
import { NodeRegistration } from '../../recovery/node-registration.service.js'

/** A node that has just started sends its first heartbeat within this time, ms. */
const FIRST_HEARTBEAT_MS = 3_000
const POLL_EVERY_MS = 100

/** Adds media nodes for backends: running ones, or new ones where the driver can start them. */
@Injectable()
export class AddMediaNode {
  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly registration: NodeRegistration,
    private readonly launches: NodeLaunchService,
    private readonly queries: MediaNodeQueries,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  async add(body: AddMediaNodeBody): Promise<MediaNodeView> {
    const row = this.driver.startsNodes ? await this.#launch(body) : await this.#admit(body)
    return this.queries.view(row)
  }

  /** Admits all running nodes whose heartbeats arrive and that are not in the cluster. */
  async discover(): Promise<MediaNodeListView> {
    const admitted = await Promise.all(this.#unregistered().map((heartbeat) => this.registration.admit(heartbeat)))
    return this.queries.views(admitted.filter((row) => row !== undefined))
  }

  #launch({ environmentId, instanceType, volumeSize }: AddMediaNodeBody): Promise<MediaNodeRow> {
    return this.launches.launch({ id: newMediaNodeId(), environmentId, instanceType, volumeSize })
  }

  async #admit({ uri, environmentId }: AddMediaNodeBody): Promise<MediaNodeRow> {
    if (uri === undefined) {
      throw new ServiceError('DISABLED', 'on premises media nodes are started by the operator: uri must name one')
    }
    const fault = uriFault(uri, this.config.SERVICE_PUBLICURL)
    if (fault !== undefined) throw new ServiceError('INVALID', `uri: ${fault}`)
    const heartbeat = await this.#heartbeatFrom(uri)
    const row = await this.registration.admit(heartbeat, heartbeat.environmentId || environmentId)
    if (!row) throw alreadyInCluster(uri)
    return row
  }

  /** Waits for a heartbeat with this URI on the bus. The service never connects to an address of a request (SSRF). */
  async #heartbeatFrom(uri: string): Promise<Heartbeat> {
    const endpoint = endpointOf(uri)
    const hasEndpoint = (node: { uri: string }): boolean => endpointOf(node.uri) === endpoint
    const probe = (): Heartbeat | undefined => {
      if (this.mediaNodes.rows().some((row) => hasEndpoint(row) && isConnected(row))) throw alreadyInCluster(uri)
      return this.mediaNodes.live().find(hasEndpoint)
    }
    const heartbeat = await poll(probe, { everyMs: POLL_EVERY_MS, timeoutMs: FIRST_HEARTBEAT_MS })
    if (heartbeat) return heartbeat
    throw new ServiceError('NOT_FOUND', `no media node sends heartbeats from ${uri}`, { subject: 'mediaNode' })
  }

  #unregistered(): Heartbeat[] {
    const members = new Set(
      this.mediaNodes
        .rows()
        .filter(isConnected)
        .map(({ id }) => id),
    )
    return this.mediaNodes.live().filter(({ nodeId, status }) => !members.has(nodeId) && status === 'running')
  }
}

const alreadyInCluster = (uri: string): ServiceError =>
  new ServiceError('CONFLICT', `the media node at ${uri} is in the cluster already`)
