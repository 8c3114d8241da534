import type { RecordingView } from '@session-service/contract'
import { Body, Controller, Delete, Get, HttpCode, Param, Post, type StreamableFile } from '@nestjs/common'
import { API_PREFIX } from '../http/api.js'
import { RecordingsService } from './recordings.service.js'

@Controller(`${API_PREFIX}/recordings`)
export class RecordingsController {
  constructor(private readonly recordings: RecordingsService) {}

  /** Its body is read by the service: what a session is counts before what the rest of the body is. */
  @Post('start')
  @HttpCode(200)
  start(@Body() body: unknown): Promise<RecordingView> {
    return this.recordings.start(body)
  }

  @Post('stop/:recordingId')
  @HttpCode(200)
  stop(@Param('recordingId') id: string): Promise<RecordingView> {
    return this.recordings.stop(id)
  }

  @Get()
  list(): Promise<StreamableFile> {
    return this.recordings.list()
  }

  @Get(':recordingId')
  get(@Param('recordingId') id: string): Promise<RecordingView> {
    return this.recordings.get(id)
  }

  @Delete(':recordingId')
  @HttpCode(204)
  delete(@Param('recordingId') id: string): Promise<void> {
    return this.recordings.delete(id)
  }
}
