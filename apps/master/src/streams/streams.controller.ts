import { StatusWhenMissing } from '@session-service/server-kit'
import { Controller, Delete, HttpCode } from '@nestjs/common'
import { API_PREFIX } from '../platform/http/api.js'
import { PathParam } from '../platform/http/parsing/parameters.js'
import { StreamsService } from './streams.service.js'

@Controller(`${API_PREFIX}/sessions/:sessionId/stream`)
export class StreamsController {
  constructor(private readonly streams: StreamsService) {}

  @Delete(':streamId')
  @HttpCode(204)
  @StatusWhenMissing({ session: 400 })
  delete(@PathParam('sessionId') sessionId: string, @PathParam('streamId') streamId: string): Promise<void> {
    return this.streams.delete(sessionId, streamId)
  }
}
