import { type ConnectionView, CreateConnectionBody } from '@session-service/contract'
import { Body, Controller, HttpCode, Post, UseInterceptors } from '@nestjs/common'
import { SessionFirst } from '../../connections/session-first.js'
import { IpCamerasService } from '../../ip-cameras/ip-cameras.service.js'
import { API_PREFIX } from '../../platform/http/api.js'
import { PathParam } from '../../platform/http/parameters.js'
import { parsed } from '../../platform/http/parsed.js'

/** Creates connections of both types. */
@Controller(`${API_PREFIX}/sessions/:sessionId/connection`)
export class CreateConnectionController {
  constructor(private readonly cameras: IpCamerasService) {}

  @Post()
  @HttpCode(200)
  @UseInterceptors(SessionFirst)
  create(
    @PathParam('sessionId') sessionId: string,
    @Body(parsed(CreateConnectionBody)) body: CreateConnectionBody,
  ): Promise<ConnectionView> {
    return this.cameras.create(sessionId, body)
  }
}
