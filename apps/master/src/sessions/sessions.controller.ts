import { CreateSessionBody, type SessionView } from '@session-service/contract'
import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query, type StreamableFile } from '@nestjs/common'
import { API_PREFIX } from '../http/api.js'
import { isTrue } from '../http/query.js'
import { parsed } from '../http/parsed.js'
import { SessionsService } from './sessions.service.js'

@Controller(`${API_PREFIX}/sessions`)
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  @Post()
  @HttpCode(200)
  create(@Body(parsed(CreateSessionBody)) body: CreateSessionBody): Promise<SessionView> {
    return this.sessions.create(body)
  }

  @Get()
  list(@Query('pendingConnections') pendingConnections?: string): Promise<StreamableFile> {
    return this.sessions.list(isTrue(pendingConnections, false))
  }

  @Get(':sessionId')
  get(
    @Param('sessionId') sessionId: string,
    @Query('pendingConnections') pendingConnections?: string,
  ): Promise<SessionView> {
    return this.sessions.get(sessionId, isTrue(pendingConnections, false))
  }

  @Delete(':sessionId')
  @HttpCode(204)
  delete(@Param('sessionId') sessionId: string): Promise<void> {
    return this.sessions.close(sessionId, 'sessionClosedByServer')
  }
}
