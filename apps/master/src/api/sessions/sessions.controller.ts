import { CreateSessionBody, type SessionView } from '@session-service/contract'
import { ROUTES, type SessionsQuery } from '@session-service/contract/rest-api'
import { Body, Controller, Delete, Get, HttpCode, Post, type StreamableFile } from '@nestjs/common'
import { type SessionDetails, SessionQueries } from '../../connections/session-queries.js'
import { API_PREFIX } from '../../platform/http/api.js'
import { isTrue, PathParam, QueryParams } from '../../platform/http/parsing/parameters.js'
import { parsed } from '../../platform/http/parsing/parsed.js'
import { RequestViewer, type Viewer } from '../../platform/http/access/viewer.js'
import { SessionsService } from '../../sessions/sessions.service.js'

const detailsOf = ({ pendingConnections, webRtcStats }: SessionsQuery): SessionDetails => ({
  withPending: isTrue(pendingConnections),
  withEndpoints: isTrue(webRtcStats),
})

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
  list(
    @QueryParams(ROUTES.listSessions.query) query: SessionsQuery,
    @RequestViewer() viewer: Viewer,
  ): Promise<StreamableFile> {
    return this.queries.list({ ...detailsOf(query), viewer })
  }

  @Get(':sessionId')
  get(
    @PathParam('sessionId') sessionId: string,
    @QueryParams(ROUTES.getSession.query) query: SessionsQuery,
    @RequestViewer() viewer: Viewer,
  ): Promise<SessionView> {
    return this.queries.get(sessionId, { ...detailsOf(query), viewer })
  }

  @Delete(':sessionId')
  @HttpCode(204)
  delete(@PathParam('sessionId') sessionId: string): Promise<void> {
    return this.sessions.close(sessionId, 'sessionClosedByServer')
  }
}
