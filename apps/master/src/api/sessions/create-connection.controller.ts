import { type ConnectionView, CreateConnectionBody } from '@session-service/contract'
import { Body, Controller, HttpCode, Post } from '@nestjs/common'
import { sessionFirst } from '../../connections/session-first.js'
import { IpCamerasService } from '../../ip-cameras/ip-cameras.service.js'
import { API_PREFIX } from '../../platform/http/api.js'
import { PathParam } from '../../platform/http/parsing/parameters.js'
import { parseBody } from '../../platform/http/parsing/parsed.js'
import { SessionsService } from '../../sessions/sessions.service.js'

/** Creates connections of both types. */
@Controller(`${API_PREFIX}/sessions/:sessionId/connection`)
export class CreateConnectionController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly cameras: IpCamerasService,
  ) {}

  @Post()
  @HttpCode(200)
  create(@PathParam('sessionId') sessionId: string, @Body() body: unknown): Promise<ConnectionView> {
    return sessionFirst(this.sessions, sessionId, () =>
      this.cameras.create(sessionId, parseBody(CreateConnectionBody, body)),
    )
  }
}
