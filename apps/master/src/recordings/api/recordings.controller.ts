import type { RecordingView } from '@session-service/contract'
import { Body, Controller, Delete, Get, HttpCode, Post, type StreamableFile, UseGuards } from '@nestjs/common'
import { API_PREFIX } from '../../platform/http/api.js'
import { PathParam } from '../../platform/http/parsing/parameters.js'
import { RequestViewer, type Viewer } from '../../platform/http/access/viewer.js'
import { RecordingEnabled } from './recording-enabled.guard.js'
import { RecordingsService } from './recordings.service.js'

@Controller(`${API_PREFIX}/recordings`)
@UseGuards(RecordingEnabled)
export class RecordingsController {
  constructor(private readonly recordings: RecordingsService) {}

  /** The service parses the body: the state of the session is checked before the other members. */
  @Post('start')
  @HttpCode(200)
  start(@Body() body: unknown): Promise<RecordingView> {
    return this.recordings.start(body)
  }

  @Post('stop/:recordingId')
  @HttpCode(200)
  stop(@PathParam('recordingId') id: string): Promise<RecordingView> {
    return this.recordings.stop(id)
  }

  @Get()
  list(@RequestViewer() viewer: Viewer): Promise<StreamableFile> {
    return this.recordings.list(viewer)
  }

  @Get(':recordingId')
  get(@PathParam('recordingId') id: string): Promise<RecordingView> {
    return this.recordings.get(id)
  }

  @Delete(':recordingId')
  @HttpCode(204)
  delete(@PathParam('recordingId') id: string): Promise<void> {
    return this.recordings.delete(id)
  }
}
