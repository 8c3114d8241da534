import { ServiceError } from '@session-service/contract'
import { DASHBOARD_PATH, SearchQuery, type SearchView } from '@session-service/contract/dashboard'
import { Controller, Get, Req } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import { QueryParams } from '../../platform/http/parsing/parameters.js'
import { rightsOf } from './views/rights.js'
import { DashboardSearch } from './views/search.service.js'

/** Searches sessions, connections, recordings and media nodes. */
@Controller(`${DASHBOARD_PATH.slice(1)}/search`)
export class SearchController {
  constructor(private readonly search: DashboardSearch) {}

  @Get()
  find(@QueryParams(SearchQuery) { text }: SearchQuery, @Req() { credential }: FastifyRequest): Promise<SearchView> {
    if (!credential) throw new ServiceError('NOT_ALLOWED', 'a search needs credentials')
    return this.search.find(text, rightsOf(credential))
  }
}
