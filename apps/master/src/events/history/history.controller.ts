import type { HistorySessionDetailsView, HistorySessionListView } from '@session-service/contract'
import { type HistoryQuery, ROUTES } from '@session-service/contract/rest-api'
import { Controller, Delete, Get, HttpCode } from '@nestjs/common'
import { API_PREFIX } from '../../platform/http/api.js'
import { PathParam, QueryParams } from '../../platform/http/parsing/parameters.js'
import { RequestViewer, type Viewer } from '../../platform/http/access/viewer.js'
import { HistoryService } from './history.service.js'

/** Ended sessions: list, show and delete them. */
@Controller(`${API_PREFIX}/history/sessions`)
export class HistoryController {
  constructor(private readonly history: HistoryService) {}

  @Get()
  list(
    @QueryParams(ROUTES.listEndedSessions.query) query: HistoryQuery,
    @RequestViewer() { prefix }: Viewer,
  ): Promise<HistorySessionListView> {
    return this.history.list(query, prefix)
  }

  @Get(':uniqueSessionId')
  get(@PathParam('uniqueSessionId') uniqueSessionId: string): Promise<HistorySessionDetailsView> {
    return this.history.get(uniqueSessionId)
  }

  @Delete(':uniqueSessionId')
  @HttpCode(204)
  delete(@PathParam('uniqueSessionId') uniqueSessionId: string): Promise<void> {
    return this.history.delete(uniqueSessionId)
  }
}
