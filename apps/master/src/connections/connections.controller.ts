import { type ConnectionView, UpdateConnectionBody } from '@session-service/contract'
import { type PendingQuery, ROUTES } from '@session-service/contract/rest-api'
import { StatusWhenMissing } from '@session-service/server-kit'
import { Body, Controller, Delete, Get, HttpCode, Patch, type StreamableFile } from '@nestjs/common'
import { Paid } from '../platform/config/edition.js'
import { API_PREFIX } from '../platform/http/api.js'
import { isTrue, PathParam, QueryParams } from '../platform/http/parsing/parameters.js'
import { parseBody } from '../platform/http/parsing/parsed.js'
import { RequestViewer, type Viewer } from '../platform/http/access/viewer.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { ConnectionsService } from './connections.service.js'
import { sessionFirst } from './session-first.js'

@Controller(`${API_PREFIX}/sessions/:sessionId/connection`)
export class ConnectionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly connections: ConnectionsService,
  ) {}

  @Get()
  list(
    @PathParam('sessionId') sessionId: string,
    @QueryParams(ROUTES.listConnections.query) { pendingConnections }: PendingQuery,
    @RequestViewer() viewer: Viewer,
  ): Promise<StreamableFile> {
    return this.connections.list(sessionId, isTrue(pendingConnections, { byDefault: true }), viewer)
  }

  @Get(':connectionId')
  @StatusWhenMissing({ session: 400 })
  get(
    @PathParam('sessionId') sessionId: string,
    @PathParam('connectionId') connectionId: string,
    @RequestViewer() viewer: Viewer,
  ): Promise<ConnectionView> {
    return this.connections.get(sessionId, connectionId, viewer)
  }

  @Patch(':connectionId')
  @Paid()
  update(
    @PathParam('sessionId') sessionId: string,
    @PathParam('connectionId') connectionId: string,
    @Body() body: unknown,
  ): Promise<ConnectionView> {
    return sessionFirst(this.sessions, sessionId, () =>
      this.connections.update(sessionId, connectionId, parseBody(UpdateConnectionBody, body)),
    )
  }

  @Delete(':connectionId')
  @HttpCode(204)
  @StatusWhenMissing({ session: 400 })
  delete(@PathParam('sessionId') sessionId: string, @PathParam('connectionId') connectionId: string): Promise<void> {
    return this.connections.evict(sessionId, connectionId, 'forceDisconnectByServer')
  }
}
