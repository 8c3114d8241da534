import type { TranscriptionView } from '@session-service/contract'
import { Body, Controller, Delete, Get, HttpCode, Post } from '@nestjs/common'
import { Paid } from '../platform/config/edition.js'
import { API_PREFIX } from '../platform/http/api.js'
import { PathParam } from '../platform/http/parsing/parameters.js'
import { LanguageModels } from './language-models.service.js'
import { TranscriptionsService } from './transcriptions.service.js'

/** The service parses the bodies, because a disabled module is reported before an invalid body. */
@Paid()
@Controller(API_PREFIX)
export class SpeechToTextController {
  constructor(
    private readonly languageModels: LanguageModels,
    private readonly transcriptions: TranscriptionsService,
  ) {}

  @Post('speech-to-text/load')
  @HttpCode(200)
  load(@Body() body: unknown): Promise<void> {
    return this.languageModels.load(body)
  }

  @Post('speech-to-text/unload')
  @HttpCode(200)
  unload(@Body() body: unknown): Promise<void> {
    return this.languageModels.unload(body)
  }

  @Post('sessions/:sessionId/speech-to-text')
  @HttpCode(200)
  startTranscription(@PathParam('sessionId') sessionId: string, @Body() body: unknown): Promise<TranscriptionView> {
    return this.transcriptions.start(sessionId, body)
  }

  @Get('sessions/:sessionId/speech-to-text')
  getTranscription(@PathParam('sessionId') sessionId: string): Promise<TranscriptionView> {
    return this.transcriptions.get(sessionId)
  }

  @Delete('sessions/:sessionId/speech-to-text')
  @HttpCode(204)
  stopTranscription(@PathParam('sessionId') sessionId: string): Promise<void> {
    return this.transcriptions.stop(sessionId)
  }
}
