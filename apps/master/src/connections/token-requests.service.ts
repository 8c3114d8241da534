import { CreateConnectionBody, type CreateTokenBody, type TokenView } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { ConnectionsService } from './connections.service.js'
import { tokenView } from './token.view.js'

/** A token asked for as such: the connection that it is for is made with it. */
@Injectable()
export class TokenRequestsService {
  constructor(private readonly connections: ConnectionsService) {}

  async create(body: CreateTokenBody): Promise<TokenView> {
    const { session, role, data, mediaserverOptions } = body
    const connection = CreateConnectionBody.parse({ role, data, mediaserverOptions })
    return tokenView(await this.connections.create(session, connection), body)
  }
}
