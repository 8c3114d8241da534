import { Body, Controller, HttpCode, Post } from '@nestjs/common'
import { Paid } from '../platform/config/edition.js'
import { API_PREFIX } from '../platform/http/api.js'
import { SpeechToTextService } from './speech-to-text.service.js'

/** Bodies are read by the service: whether the module is on counts before what they hold. */
@Paid()
@Controller(`${API_PREFIX}/speech-to-text`)
export class SpeechToTextController {
  constructor(private readonly speechToText: SpeechToTextService) {}

  @Post('load')
  @HttpCode(200)
  load(@Body() body: unknown): Promise<void> {
    return this.speechToText.load(body)
  }

  @Post('unload')
  @HttpCode(200)
  unload(@Body() body: unknown): Promise<void> {
    return this.speechToText.unload(body)
  }
}
