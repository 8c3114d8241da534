import { CreateTokenBody, type TokenView } from '@session-service/contract'
import { Body, Controller, HttpCode, Post } from '@nestjs/common'
import { API_PREFIX } from '../platform/http/api.js'
import { parsed } from '../platform/http/parsing/parsed.js'
import { ConnectionsService } from './connections.service.js'

/** The deprecated way to create a connection. */
@Controller(`${API_PREFIX}/tokens`)
export class TokensController {
  constructor(private readonly connections: ConnectionsService) {}

  @Post()
  @HttpCode(200)
  create(@Body(parsed(CreateTokenBody)) body: CreateTokenBody): Promise<TokenView> {
    return this.connections.createToken(body)
  }
}
