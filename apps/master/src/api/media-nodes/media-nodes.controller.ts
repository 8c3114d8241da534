import {
  AddMediaNodeBody,
  type MediaNodeListView,
  type MediaNodeView,
  ServiceError,
  UpdateMediaNodeBody,
} from '@session-service/contract'
import {
  type AddMediaNodeQuery,
  type NodeDetailsQuery,
  type RemoveMediaNodeQuery,
  ROUTES,
} from '@session-service/contract/rest-api'
import { poll } from '@session-service/server-kit'
import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put, Res, UseGuards } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import { isLeaving } from '../../media-nodes/media-node-status.js'
import { Paid } from '../../platform/config/edition.js'
import { shuttingDown } from '../../platform/http/answers/shutting-down.js'
import { API_PREFIX } from '../../platform/http/api.js'
import { isTrue, PathParam, QueryParams } from '../../platform/http/parsing/parameters.js'
import { parsed } from '../../platform/http/parsing/parsed.js'
import { NotWhenHighlyAvailable } from './highly-available.guard.js'
import { AddMediaNode } from './add-media-node.service.js'
import { MediaNodeQueries, type NodeQuery } from './media-node-queries.service.js'
import { RemoveMediaNode } from './remove-media-node.service.js'

/** Interval of reading the state of a node for a request with `wait`, ms. */
const POLL_EVERY_MS = 200

const nodeQuery = (query: NodeDetailsQuery): NodeQuery => ({
  sessions: isTrue(query.sessions),
  recordings: isTrue(query.recordings),
  extraInfo: isTrue(query['extra-info']),
})

@Controller(`${API_PREFIX}/media-nodes`)
@Paid()
export class MediaNodesController {
  constructor(
    private readonly queries: MediaNodeQueries,
    private readonly addition: AddMediaNode,
    private readonly removal: RemoveMediaNode,
  ) {}

  @Get()
  list(@QueryParams(ROUTES.listMediaNodes.query) query: NodeDetailsQuery): Promise<MediaNodeListView> {
    return this.queries.list(nodeQuery(query))
  }

  @Get(':mediaNodeId')
  get(
    @PathParam('mediaNodeId') id: string,
    @QueryParams(ROUTES.getMediaNode.query) query: NodeDetailsQuery,
  ): Promise<MediaNodeView> {
    return this.queries.get(id, nodeQuery(query))
  }

  @Post()
  @HttpCode(200)
  @UseGuards(NotWhenHighlyAvailable)
  async add(
    @Body(parsed(AddMediaNodeBody)) body: AddMediaNodeBody,
    @QueryParams(ROUTES.addMediaNode.query) { wait }: AddMediaNodeQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MediaNodeView> {
    const node = await this.addition.add(body)
    if (!isTrue(wait)) return node
    const isLaunching = ({ status }: MediaNodeView): boolean => status === 'launching'
    const last = await this.#waitWhile(node.id, isLaunching, reply)
    if (last?.status === 'running') return last
    throw new ServiceError('LAUNCH_FAILED', `media node ${node.id} did not start: it is ${last?.status ?? 'gone'}`)
  }

  @Put()
  @UseGuards(NotWhenHighlyAvailable)
  discover(): Promise<MediaNodeListView> {
    return this.addition.discover()
  }

  @Patch(':mediaNodeId')
  @UseGuards(NotWhenHighlyAvailable)
  async update(
    @PathParam('mediaNodeId') id: string,
    @Body(parsed(UpdateMediaNodeBody)) { status }: UpdateMediaNodeBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MediaNodeView | undefined> {
    const node = await this.removal.changeStatus(id, status)
    if (!node) void reply.code(204)
    return node
  }

  @Delete(':mediaNodeId')
  @UseGuards(NotWhenHighlyAvailable)
  async remove(
    @PathParam('mediaNodeId') id: string,
    @QueryParams(ROUTES.removeMediaNode.query) { wait, 'deletion-strategy': strategy }: RemoveMediaNodeQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MediaNodeView | undefined> {
    const { node, removal } = await this.removal.remove(id, strategy ?? 'if-no-sessions')
    if (!isTrue(wait)) {
      void reply.code(removal === 'waiting' ? 202 : 200)
      return node
    }
    const last = await this.#waitWhile(id, ({ status }) => isLeaving(status), reply)
    // Another request has revoked the removal meanwhile.
    if (last) throw new ServiceError('CONFLICT', `media node ${id} stays: it is ${last.status}`)
    void reply.code(204)
    return undefined
  }

  /** Waits while the condition holds. Gives the node then; undefined when it does not exist, or the client disconnects. */
  async #waitWhile(
    id: string,
    holds: (node: MediaNodeView) => boolean,
    reply: FastifyReply,
  ): Promise<MediaNodeView | undefined> {
    const probe = async (): Promise<{ node: MediaNodeView | undefined } | undefined> => {
      const node = await this.#findNode(id)
      if (!node || !holds(node)) return { node }
      if (reply.raw.destroyed) return { node: undefined }
      if (this.removal.isStopping) throw shuttingDown()
      return undefined
    }
    return (await poll(probe, { everyMs: POLL_EVERY_MS }))?.node
  }

  async #findNode(id: string): Promise<MediaNodeView | undefined> {
    try {
      return await this.queries.get(id)
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined
      throw error
    }
  }
}
