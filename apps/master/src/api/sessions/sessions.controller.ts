import { CreateSessionBody, type SessionView } from '@session-service/contract'
import { type PendingQuery, ROUTES } from '@session-service/contract/rest-api'
import { Body, Controller, Delete, Get, HttpCode, Post, type StreamableFile } from '@nestjs/common'
import { SessionQueries } from '../../connections/session-queries.js'
import { API_PREFIX } from '../../platform/http/api.js'
import { isTrue, PathParam, QueryParams } from '../../platform/http/parameters.js'
import { parsed } from '../../platform/http/parsed.js'
import { SessionsService } from '../../sessions/sessions.service.js'

@Controller(`${API_PREFIX}/sessions`)
export class SessionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly queries: SessionQueries,
  ) {}

  @Post()
  @HttpCode(200)
  create(@Body(parsed(CreateSessionBody)) body: CreateSessionBody): Promise<SessionView> {
    return this.sessions.create(body)
  }

  @Get()
  list(@QueryParams(ROUTES.listSessions.query) { pendingConnections }: PendingQuery): Promise<StreamableFile> {
    return this.queries.list(isTrue(pendingConnections, false))
  }

  @Get(':sessionId')
  get(
    @PathParam('sessionId') sessionId: string,
    @QueryParams(ROUTES.getSession.query) { pendingConnections }: PendingQuery,
  ): Promise<SessionView> {
    return this.queries.get(sessionId, isTrue(pendingConnections, false))
  }

  @Delete(':sessionId')
  @HttpCode(204)
  delete(@PathParam('sessionId') sessionId: string): Promise<void> {
    return this.sessions.close(sessionId, 'sessionClosedByServer')
  }
}
