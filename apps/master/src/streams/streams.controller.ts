import { StatusWhenMissing } from '@session-service/server-kit'
import { Controller, Delete, HttpCode, Param } from '@nestjs/common'
import { API_PREFIX } from '../http/api.js'
import { StreamsService } from './streams.service.js'

@Controller(`${API_PREFIX}/sessions/:sessionId/stream`)
export class StreamsController {
  constructor(private readonly streams: StreamsService) {}

  @Delete(':streamId')
  @HttpCode(204)
  @StatusWhenMissing({ session: 400 })
  delete(@Param('sessionId') sessionId: string, @Param('streamId') streamId: string): Promise<void> {
    return this.streams.delete(sessionId, streamId)
  }
}
