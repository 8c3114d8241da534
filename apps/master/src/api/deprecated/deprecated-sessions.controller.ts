import { type ConnectionView, CreateConnectionBody, CreateSessionBody, withDefault } from '@session-service/contract'
import { StatusWhenMissing } from '@session-service/server-kit'
import { Body, Controller, Delete, Get, HttpCode, Post, type StreamableFile, UseGuards } from '@nestjs/common'
import { z } from 'zod'
import { ConnectionsService } from '../../connections/connections.service.js'
import { sessionFirst } from '../../connections/session-first.js'
import { SessionQueries } from '../../connections/session-queries.js'
import { IpCamerasService } from '../../ip-cameras/ip-cameras.service.js'
import { PathParam } from '../../platform/http/parsing/parameters.js'
import { parseBody, parsed } from '../../platform/http/parsing/parsed.js'
import { RequestViewer, type Viewer } from '../../platform/http/access/viewer.js'
import { SessionsService } from '../../sessions/sessions.service.js'
import { StreamsService } from '../../streams/streams.service.js'
import { type LegacyConnection, legacyConnection, type LegacySession, legacySession } from './legacy-views.js'
import { WarnDeprecated } from './warn-deprecated.js'

/** Cameras only; the type may be left out. */
const CreateCameraBody = CreateConnectionBody.safeExtend({ type: withDefault(z.literal('IPCAM'), 'IPCAM') })

@Controller('api/sessions')
@UseGuards(WarnDeprecated)
export class DeprecatedSessionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly sessionQueries: SessionQueries,
    private readonly connections: ConnectionsService,
    private readonly cameras: IpCamerasService,
    private readonly streams: StreamsService,
  ) {}

  @Post()
  @HttpCode(200)
  async create(@Body(parsed(CreateSessionBody)) body: CreateSessionBody): Promise<{ id: string; createdAt: number }> {
    const { id, createdAt } = await this.sessions.create(body)
    return { id, createdAt }
  }

  @Get()
  list(@RequestViewer() viewer: Viewer): Promise<StreamableFile> {
    return this.sessionQueries.list({ viewer }, { name: 'legacy', convert: legacySession })
  }

  @Get(':sessionId')
  async get(@PathParam('sessionId') sessionId: string, @RequestViewer() viewer: Viewer): Promise<LegacySession> {
    return legacySession(await this.sessionQueries.get(sessionId, { viewer }))
  }

  @Delete(':sessionId')
  @HttpCode(204)
  close(@PathParam('sessionId') sessionId: string): Promise<void> {
    return this.sessions.close(sessionId, 'sessionClosedByServer')
  }

  @Post(':sessionId/connection')
  @HttpCode(200)
  async createCamera(@PathParam('sessionId') sessionId: string, @Body() body: unknown): Promise<LegacyConnection> {
    const create = (): Promise<ConnectionView> => this.cameras.create(sessionId, parseBody(CreateCameraBody, body))
    return legacyConnection(await sessionFirst(this.sessions, sessionId, create))
  }

  @Delete(':sessionId/connection/:connectionId')
  @HttpCode(204)
  @StatusWhenMissing({ session: 400 })
  evict(@PathParam('sessionId') sessionId: string, @PathParam('connectionId') connectionId: string): Promise<void> {
    return this.connections.evict(sessionId, connectionId, 'forceDisconnectByServer')
  }

  @Delete(':sessionId/stream/:streamId')
  @HttpCode(204)
  @StatusWhenMissing({ session: 400 })
  unpublish(@PathParam('sessionId') sessionId: string, @PathParam('streamId') streamId: string): Promise<void> {
    return this.streams.delete(sessionId, streamId)
  }
}
