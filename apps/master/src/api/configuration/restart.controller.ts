import { RestartBody, type RestartView } from '@session-service/contract'
import { Body, Controller, HttpCode, Post } from '@nestjs/common'
import { API_PREFIX } from '../../platform/http/api.js'
import { parsed } from '../../platform/http/parsing/parsed.js'
import { Paid } from '../../platform/config/edition.js'
import { RestartService } from './restart.service.js'

@Controller(`${API_PREFIX}/restart`)
@Paid()
export class RestartController {
  constructor(private readonly restarts: RestartService) {}

  @Post()
  @HttpCode(200)
  restart(@Body(parsed(RestartBody)) members: RestartBody): Promise<RestartView> {
    return this.restarts.request(members)
  }
}
