import { SendSignalBody } from '@session-service/contract'
import { Body, Controller, HttpCode, Post } from '@nestjs/common'
import { API_PREFIX } from '../platform/http/api.js'
import { parsed } from '../platform/http/parsing/parsed.js'
import { SignalsService } from './signals.service.js'

@Controller(`${API_PREFIX}/signal`)
export class SignalsController {
  constructor(private readonly signals: SignalsService) {}

  @Post()
  @HttpCode(200)
  send(@Body(parsed(SendSignalBody)) body: SendSignalBody): Promise<void> {
    return this.signals.sendFromServer(body)
  }
}
