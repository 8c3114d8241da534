import type { RecordingView } from '@session-service/contract'
import { Body, Controller, Delete, Get, HttpCode, Inject, Post, type StreamableFile, UseGuards } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { PathParam } from '../../platform/http/parsing/parameters.js'
import { RequestViewer, type Viewer } from '../../platform/http/access/viewer.js'
import { RecordingEnabled } from '../../recordings/api/recording-enabled.guard.js'
import { noSuchRecording, RecordingsService } from '../../recordings/api/recordings.service.js'
import { type LegacyRecording, legacyRecording } from './legacy-views.js'
import { WarnDeprecated } from './warn-deprecated.js'

@Controller('api/recordings')
@UseGuards(WarnDeprecated)
export class DeprecatedRecordingsController {
  constructor(
    private readonly recordings: RecordingsService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  @Post('start')
  @UseGuards(RecordingEnabled)
  @HttpCode(200)
  async start(@Body() body: unknown): Promise<LegacyRecording> {
    return this.#view(await this.recordings.start(body))
  }

  /** Never answers 501: without the module there is no recording to stop. Waits for the file in all editions. */
  @Post('stop/:recordingId')
  @HttpCode(200)
  async stop(@PathParam('recordingId') id: string): Promise<LegacyRecording> {
    if (!this.recordings.isEnabled) throw noSuchRecording(id)
    return this.#view(await this.recordings.stop(id, { waitsForFile: true }))
  }

  @Get()
  @UseGuards(RecordingEnabled)
  list(@RequestViewer() viewer: Viewer): Promise<StreamableFile> {
    return this.recordings.list(viewer, { name: 'legacy', convert: (recording) => this.#view(recording) })
  }

  @Get(':recordingId')
  @UseGuards(RecordingEnabled)
  async get(@PathParam('recordingId') id: string): Promise<LegacyRecording> {
    return this.#view(await this.recordings.get(id))
  }

  @Delete(':recordingId')
  @UseGuards(RecordingEnabled)
  @HttpCode(204)
  delete(@PathParam('recordingId') id: string): Promise<void> {
    return this.recordings.delete(id)
  }

  #view(recording: RecordingView): LegacyRecording {
    return legacyRecording(recording, this.config.SERVICE_RECORDING_PUBLIC_ACCESS)
  }
}
