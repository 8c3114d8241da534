import { Body, Controller, HttpCode, Post } from '@nestjs/common'
import { Paid } from '../platform/config/edition.js'
import { API_PREFIX } from '../platform/http/api.js'
import { LanguageModels } from './language-models.service.js'

/** The service parses the bodies, because a disabled module is reported before an invalid body. */
@Paid()
@Controller(`${API_PREFIX}/speech-to-text`)
export class SpeechToTextController {
  constructor(private readonly languageModels: LanguageModels) {}

  @Post('load')
  @HttpCode(200)
  load(@Body() body: unknown): Promise<void> {
    return this.languageModels.load(body)
  }

  @Post('unload')
  @HttpCode(200)
  unload(@Body() body: unknown): Promise<void> {
    return this.languageModels.unload(body)
  }
}
